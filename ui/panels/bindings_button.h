// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QPointer>
#include <QToolButton>

#include <memory>

class QFrame;

namespace shardwright {

class EditorSession;

/// "batch = 8, seq = 8": the sizes that are assumed for symbolic dimensions, with a popup to change
/// them.
class BindingsButton : public QToolButton {
    Q_OBJECT

public:
    explicit BindingsButton(EditorSession* session, QWidget* parent = nullptr);
    void setAnalysis(std::shared_ptr<const Analysis> analysis);

private:
    void openPopup();
    void bind(const std::string& symbol, std::int64_t size);

    EditorSession* m_session;
    std::shared_ptr<const Analysis> m_analysis;
    QPointer<QFrame> m_popup;
};

}  // namespace shardwright
