// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/observed_tensors.h"

#include "ui/panels/shard_view.h"
#include "ui/window/text.h"

#include <QBoxLayout>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>

#include <algorithm>

namespace shardwright {

ObservedTensors::ObservedTensors(QWidget* parent) : QWidget(parent) {
    m_note = new QLabel(this);
    m_note->setTextFormat(Qt::PlainText);
    m_note->setWordWrap(true);
    m_note->setProperty("role", "muted");
    m_again = new QPushButton(tr("Run again with it"), this);
    m_again->setObjectName(QStringLiteral("runAgain"));
    connect(m_again, &QPushButton::clicked, this, &ObservedTensors::runWanted);
    m_keep = new QCheckBox(tr("Observe in every run"), this);
    m_keep->setObjectName(QStringLiteral("observe"));
    m_keep->setToolTip(tr("The tensor that is selected is observed in any case"));
    connect(m_keep, &QCheckBox::clicked, this, &ObservedTensors::keep);
    m_list = new QComboBox(this);
    m_list->setObjectName(QStringLiteral("observed"));
    m_list->setAccessibleName(tr("Observed tensors"));
    m_list->setToolTip(tr("Tensors that every run observes"));
    m_list->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    constexpr int kNameChars = 18;
    m_list->setMinimumContentsLength(kNameChars);
    connect(m_list, &QComboBox::activated, this, [this](int index) {
        if (index >= 0 && index < static_cast<int>(m_kept.size())) {
            const Kept kept = m_kept[static_cast<std::size_t>(index)];
            emit tensorWanted(kept.value, kept.slot);
        }
    });
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(4, 0, 0, 0);
    row->addWidget(m_keep);
    row->addWidget(m_list);
    row->addWidget(m_note, 1);
    row->addWidget(m_again);
    row->addStretch(0);
    setNote({}, false);
    refresh();
}

void ObservedTensors::clear() {
    m_kept.clear();
    m_current = {};
    refresh();
}

void ObservedTensors::showTensor(std::shared_ptr<const Analysis> analysis, ValueId value,
                                 TensorSlot slot) {
    m_analysis = std::move(analysis);
    m_current = {value, slot};
    refresh();
}

void ObservedTensors::setNote(const QString& note, bool again) {
    m_note->setText(note);
    m_again->setVisible(again);
}

std::string ObservedTensors::nameOf(const Kept& kept) const {
    return m_analysis && kept.value ? observedName(*m_analysis, kept.value, kept.slot)
                                    : std::string();
}

std::vector<std::string> ObservedTensors::names() const {
    std::vector<std::string> names;
    const auto add = [&](const Kept& kept) {
        const std::string name = nameOf(kept);
        if (!name.empty() && std::ranges::find(names, name) == names.end())
            names.push_back(name);
    };
    for (const Kept& kept : m_kept)
        add(kept);
    add(m_current);
    return names;
}

void ObservedTensors::keep(bool on) {
    const std::string name = nameOf(m_current);
    std::erase_if(m_kept, [&](const Kept& kept) { return nameOf(kept) == name; });
    if (on)
        m_kept.push_back(m_current);
    refresh();
}

void ObservedTensors::refresh() {
    const std::string current = nameOf(m_current);
    m_keep->setVisible(!current.empty());
    const QSignalBlocker blocker(m_list);
    m_list->clear();
    int here = -1;
    for (const Kept& kept : m_kept) {
        const std::string name = nameOf(kept);
        if (name == current)
            here = m_list->count();
        m_list->addItem(oneLine(name, 60));
        m_list->setItemData(m_list->count() - 1, toolTipText(toQt(name)), Qt::ToolTipRole);
    }
    m_list->setCurrentIndex(here);
    m_list->setPlaceholderText(m_kept.size() == 1 ? tr("1 observed")
                                                  : tr("%1 observed").arg(m_kept.size()));
    m_list->setVisible(!m_kept.empty());
    m_keep->setChecked(here >= 0);
}

}  // namespace shardwright
