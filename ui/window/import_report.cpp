// SPDX-License-Identifier: Apache-2.0
#include "ui/window/import_report.h"

#include "ui/panels/diagnostics_model.h"
#include "ui/window/text.h"

#include <QBoxLayout>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>

#include <algorithm>
#include <vector>

namespace shardwright {
namespace {

enum Column { RuleColumn, ResultColumn };
constexpr int kMostText = 2000;

}  // namespace

ImportReport::ImportReport(const QString& file, const ApplyOutcome& outcome, QWidget* parent)
    : QDialog(parent) {
    setObjectName(QStringLiteral("importReport"));
    setWindowTitle(tr("Imported Annotations"));
    auto* summary = new QLabel(
        tr("%1 of the %2 rules of %3 matched nothing or did not fit. The others are applied, in "
           "one step to undo.")
            .arg(QString::number(outcome.unmatched()), QString::number(outcome.rules.size()), file),
        this);
    summary->setTextFormat(Qt::PlainText);
    summary->setWordWrap(true);
    m_list = new QTreeWidget(this);
    m_list->setObjectName(QStringLiteral("importedRules"));
    m_list->setAccessibleName(tr("Rules and what they were put on"));
    m_list->setHeaderLabels({tr("Rule"), tr("Put on")});
    m_list->setRootIsDecorated(false);
    m_list->setAllColumnsShowFocus(true);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->header()->setStretchLastSection(true);
    // Those that did not fit first, each group in the order of the file.
    std::vector<const AppliedRule*> order;
    for (const AppliedRule& rule : outcome.rules)
        order.push_back(&rule);
    std::ranges::stable_partition(order, [](const AppliedRule* rule) { return rule->specs == 0; });
    QList<QTreeWidgetItem*> items;
    for (const AppliedRule* rule : order) {
        const QString problem = toQt(rule->problem);
        const QString result = rule->specs == 1    ? tr("1 place")
                               : rule->specs > 1   ? tr("%1 places").arg(rule->specs)
                               : problem.isEmpty() ? tr("nothing")
                                                   : problem;
        auto* item =
            new QTreeWidgetItem({oneLine(rule->rule, kMostText), oneLine(result, kMostText)});
        item->setToolTip(RuleColumn, toolTipText(toQt(rule->rule).left(kMostText)));
        item->setToolTip(ResultColumn, toolTipText(result.left(kMostText)));
        item->setTextAlignment(RuleColumn, Qt::AlignLeft | Qt::AlignTop);
        item->setTextAlignment(ResultColumn, Qt::AlignLeft | Qt::AlignTop);
        if (rule->specs == 0)
            item->setIcon(RuleColumn, severityIcon(Severity::Warning, palette()));
        items << item;
    }
    m_list->addTopLevelItems(items);
    m_list->header()->resizeSection(RuleColumn, 330);
    // A row has one line; what does not fit there stands here.
    auto* current = new QLabel(this);
    current->setObjectName(QStringLiteral("importedRule"));
    current->setTextFormat(Qt::PlainText);
    current->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    current->setWordWrap(true);
    current->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    current->setMinimumHeight(3 * fontMetrics().lineSpacing());
    connect(m_list, &QTreeWidget::currentItemChanged, current, [current](QTreeWidgetItem* item) {
        current->setText(item ? item->text(RuleColumn) + QStringLiteral(": ") +
                                    item->text(ResultColumn)
                              : QString());
    });
    if (!items.isEmpty())
        m_list->setCurrentItem(items.front());
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    // The style's icon does not follow the theme.
    buttons->button(QDialogButtonBox::Close)->setIcon({});
    QPushButton* copy = buttons->addButton(tr("&Copy as Text"), QDialogButtonBox::ActionRole);
    copy->setAutoDefault(false);
    connect(copy, &QPushButton::clicked, this, &ImportReport::copy);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addWidget(summary);
    column->addWidget(m_list, 1);
    column->addWidget(current);
    column->addWidget(buttons);
    resize(760, 420);
}

void ImportReport::copy() const {
    QStringList lines;
    for (int i = 0; i < m_list->topLevelItemCount(); ++i)
        lines << m_list->topLevelItem(i)->text(RuleColumn) + QStringLiteral(": ") +
                     m_list->topLevelItem(i)->text(ResultColumn);
    copyText(lines.join(u'\n'));
}

}  // namespace shardwright
