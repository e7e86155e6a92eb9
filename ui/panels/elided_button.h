// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPushButton>

namespace shardwright {

/// A push button that may be narrower than its text, which is then elided; the tool tip has all of
/// it.
class ElidedButton : public QPushButton {
    Q_OBJECT

public:
    /// `text` is shown as it is: an "&" in it is no shortcut.
    explicit ElidedButton(const QString& text, QWidget* parent = nullptr);
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_text;
};

}  // namespace shardwright
