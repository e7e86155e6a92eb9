// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"

#include <QComboBox>

#include <string>

namespace shardwright {

/// Chooses what predicts the time of collectives: nothing, an installed hardware profile, one that
/// was measured on this machine, or a file.
class HardwareBox : public QComboBox {
    Q_OBJECT

public:
    explicit HardwareBox(QWidget* parent = nullptr);
    /// A profile's file; empty: none.
    QString path() const;
    /// The choice's text, for the worker. Errors: the file cannot be read.
    Result<std::string> text() const;
    void choose(const QString& path);
    /// After the machine was measured.
    void chooseMeasured();
    QSize sizeHint() const override;

signals:
    void measureWanted();

private:
    void fill();
    void take(int index);
    void chooseFile();

    QString m_file;  ///< Chosen by a person; empty: none.
    int m_chosen = 0;
};

}  // namespace shardwright
