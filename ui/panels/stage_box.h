// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSpinBox>

#include <optional>

namespace shardwright {

/// Chooses a pipeline stage: none, 0, 1, ...; says when the selected nodes differ.
class StageBox : public QSpinBox {
    Q_OBJECT

public:
    explicit StageBox(QWidget* parent = nullptr);

    /// -1: none; nullopt: the nodes differ. Tells nobody.
    void setStage(std::optional<int> stage);

signals:
    /// By the person; -1: none.
    void stageChosen(int stage);

protected:
    QString textFromValue(int value) const override;
    int valueFromText(const QString& text) const override;
    QValidator::State validate(QString& text, int& position) const override;
};

}  // namespace shardwright
