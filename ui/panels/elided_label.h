// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLabel>

namespace shardwright {

/// A label of plain text in one line that is elided in the middle where it does not fit; the tool
/// tip has all of it.
class ElidedLabel : public QLabel {
    Q_OBJECT

public:
    explicit ElidedLabel(QWidget* parent = nullptr);
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
};

}  // namespace shardwright
