// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/portable_annotations.h"

#include <QDialog>

class QTreeWidget;

namespace shardwright {

/// Which rules of a file of annotations were put on how much, and why others were put on nothing.
class ImportReport : public QDialog {
    Q_OBJECT

public:
    ImportReport(const QString& file, const ApplyOutcome& outcome, QWidget* parent);

private:
    void copy() const;

    QTreeWidget* m_list;
};

}  // namespace shardwright
