// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPushButton>

namespace shardwright {

/// `text` in the room of `width`: elided in the middle, but what stands in brackets at its end (the
/// price of a fix) stays whole while there is room for it.
QString elidedBeforeBrackets(const QFontMetrics& metrics, const QString& text, int width);

/// A push button that may be narrower than its text, which is then elided; the tool tip has all of
/// it.
class ElidedButton : public QPushButton {
    Q_OBJECT

public:
    /// `text` is shown as it is: an "&" in it is no shortcut.
    explicit ElidedButton(const QString& text, QWidget* parent = nullptr);
    QSize minimumSizeHint() const override;

    /// What is painted at the present width.
    QString shownText() const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_text;
};

}  // namespace shardwright
