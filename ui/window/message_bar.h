// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>
#include <QList>
#include <QPair>
#include <QString>

#include <functional>

class QHBoxLayout;
class QLabel;
class QTimer;

namespace shardwright {

/// A line above the drawing that tells of an error or offers something, without stopping anybody.
class MessageBar : public QFrame {
    Q_OBJECT

public:
    enum class Kind { Information, Warning, Error };
    using Actions = QList<QPair<QString, std::function<void()>>>;

    explicit MessageBar(QWidget* parent = nullptr);
    /// Replaces what was shown. Information without actions goes by itself after a while.
    void show(Kind kind, const QString& text, const Actions& actions = {});
    QString text() const;
    void dismiss();

private:
    void changeEvent(QEvent* event) override;
    void colour();

    Kind m_kind = Kind::Information;
    QLabel *m_icon, *m_text;
    QHBoxLayout* m_buttons;
    QTimer* m_timer;
};

}  // namespace shardwright
