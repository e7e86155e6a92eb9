// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/verification_view.h"

#include "ui/panels/rows_view.h"
#include "ui/window/text.h"

#include <QBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace shardwright {

VerificationView::VerificationView(QWidget* parent) : QWidget(parent) {
    m_verdict = new QLabel(this);
    m_verdict->setTextFormat(Qt::PlainText);
    m_verdict->setWordWrap(true);
    m_verdict->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_goTo = new QPushButton(tr("Go to the node"), this);
    m_goTo->setObjectName(QStringLiteral("goToDivergent"));
    connect(m_goTo, &QPushButton::clicked, this, [this] { emit nodeWanted(m_divergent); });
    m_checks = new RowsView(tr("Compared tensors"), checkColumns(), this);
    connect(m_checks, &RowsView::nodeWanted, this, &VerificationView::nodeWanted);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(4, 0, 0, 0);
    row->addWidget(m_verdict, 1);
    row->addWidget(m_goTo);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 6, 0, 0);
    column->addLayout(row);
    column->addWidget(m_checks, 1);
    clear();
}

QString VerificationView::verdict() const {
    return m_verdict->text();
}

void VerificationView::clear() {
    m_checks->setRows({});
    m_checks->setHint(tr("Run the model with verification to compare it with one device."));
    m_verdict->clear();
    m_verdict->hide();
    m_goTo->hide();
    m_divergent = NodeId();
}

void VerificationView::show(const RunReport& report, const NodesByPlace& nodes) {
    clear();
    if (!report.verified) {
        m_checks->setHint(tr("The last run was not verified."));
        return;
    }
    m_checks->setRows(checkRows(report, nodes));
    if (*report.verified) {
        m_verdict->setText(tr("The sharded run gives the same outputs as one device."));
    } else if (report.firstDivergent) {
        const RunDivergence& first = *report.firstDivergent;
        m_divergent = nodes.find(first.node);
        const QString made = first.collectives.empty()
                                 ? tr("no collective made it")
                                 : tr("made by %1").arg(oneLine(first.collectives, 400));
        m_verdict->setText(
            tr("The first tensor that differs is %1, of %2 (%3), laid out as %4; %5.")
                .arg(oneLine(first.check.name), nodes.label(first.node), oneLine(first.op),
                     oneLine(first.layout), made));
    } else {
        m_verdict->setText(tr("Outputs differ from those of one device."));
    }
    m_verdict->show();
    m_goTo->setVisible(static_cast<bool>(m_divergent));
}

}  // namespace shardwright
