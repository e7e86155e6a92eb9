// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/assign.h"

#include <QWidget>

#include <memory>
#include <string>
#include <vector>

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;

namespace shardwright {

/// Which tensors each run keeps the values of, beside the one that is selected; and why there are
/// none of that one.
class ObservedTensors : public QWidget {
    Q_OBJECT

public:
    explicit ObservedTensors(QWidget* parent = nullptr);
    void clear();
    void showTensor(std::shared_ptr<const Analysis> analysis, ValueId value, TensorSlot slot);
    /// Empty: nothing is to be said. `again`: a further run would show it.
    void setNote(const QString& note, bool again);
    /// As RunRequest::observe wants them: those kept and the one selected.
    std::vector<std::string> names() const;

signals:
    void runWanted();
    void tensorWanted(shardwright::ValueId value, shardwright::TensorSlot slot);

private:
    struct Kept {
        ValueId value;
        TensorSlot slot;
    };
    std::string nameOf(const Kept& kept) const;
    void keep(bool on);
    void refresh();

    std::shared_ptr<const Analysis> m_analysis;
    Kept m_current;
    std::vector<Kept> m_kept;
    QLabel* m_note;
    QPushButton* m_again;
    QCheckBox* m_keep;
    QComboBox* m_list;
};

}  // namespace shardwright
