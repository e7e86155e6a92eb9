// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/stage_box.h"

#include <QSignalBlocker>

namespace shardwright {
namespace {

constexpr int kMaxStage = 9999;
constexpr int kNone = -1, kMixed = -2;

}  // namespace

StageBox::StageBox(QWidget* parent) : QSpinBox(parent) {
    setRange(kNone, kMaxStage);
    setKeyboardTracking(false);
    setAccessibleName(tr("Pipeline stage"));
    connect(this, &QSpinBox::valueChanged, this, [this](int value) {
        if (value != kMixed)
            emit stageChosen(value);
    });
}

void StageBox::setStage(std::optional<int> stage) {
    const QSignalBlocker blocker(this);
    setMinimum(stage ? kNone : kMixed);
    setValue(stage.value_or(kMixed));
}

QString StageBox::textFromValue(int value) const {
    return value == kMixed ? tr("mixed") : value == kNone ? tr("none") : QString::number(value);
}

int StageBox::valueFromText(const QString& text) const {
    return text == tr("mixed") ? kMixed : text == tr("none") ? kNone : text.toInt();
}

QValidator::State StageBox::validate(QString& text, int& position) const {
    return text == tr("mixed") || text == tr("none") ? QValidator::Acceptable
                                                     : QSpinBox::validate(text, position);
}

}  // namespace shardwright
