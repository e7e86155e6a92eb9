// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "run/run_events.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QLineEdit;
class QSpinBox;

namespace shardwright {

class FlowLayout;
class HardwareBox;

/// How the model is run: in lines that wrap, between two widgets of the panel's.
class RunSettings : public QWidget {
    Q_OBJECT

public:
    RunSettings(QWidget* first, QWidget* last, QWidget* parent = nullptr);
    /// Errors: the hardware profile cannot be read.
    Result<void> fill(RunRequest& request) const;
    void setEditable(bool editable);
    HardwareBox* hardware() const { return m_hardware; }

private:
    void chooseInputs();

    QComboBox* m_verify;
    QSpinBox *m_repeats, *m_warmups, *m_seed, *m_timeLimit;
    QCheckBox* m_operators;
    HardwareBox* m_hardware;
    QLineEdit* m_inputs;
};

}  // namespace shardwright
