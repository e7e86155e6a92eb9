// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QScrollArea>

class QLabel;

namespace shardwright {

/// Plain text of some lines below a table. Longer texts scroll, so that the table keeps its height
/// from row to row.
class DetailText : public QScrollArea {
    Q_OBJECT

public:
    explicit DetailText(int lines, QWidget* parent = nullptr);
    /// Hidden while there is none.
    void setText(const QString& text);
    QString text() const;

protected:
    void changeEvent(QEvent* event) override;

private:
    void fitHeight();

    int m_lines;
    QLabel* m_label;
};

}  // namespace shardwright
