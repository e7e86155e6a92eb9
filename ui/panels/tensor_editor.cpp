// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/tensor_editor.h"

#include "sharding/shard_text.h"
#include "ui/canvas/canvas_theme.h"
#include "ui/panels/axis_picker.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/tensor_model.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"

#include <QBoxLayout>
#include <QGridLayout>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QToolButton>

#include <algorithm>
#include <functional>

namespace shardwright {
namespace {

constexpr std::size_t kMaxRows = 16;  // dimensions; more are not met, and would not fit
constexpr int kMaxPlaces = 30;

QString axisNames(const Mesh& mesh, const std::vector<int>& axes) {
    QStringList names;
    for (const int axis : axes)
        names << toQt(mesh.axes[static_cast<std::size_t>(axis)].name);
    return names.join(QStringLiteral(", "));
}

/// Axes of a dimension however many components it has, and how many shards they make.
std::vector<int> axesOf(const std::vector<MeshComponent>& components) {
    std::vector<int> axes;
    for (const MeshComponent& component : components)
        axes.insert(axes.end(), component.axes.begin(), component.axes.end());
    return axes;
}

std::int64_t product(const Mesh& mesh, const std::vector<int>& axes) {
    std::int64_t shards = 1;
    for (const int axis : axes)
        shards *= mesh.axes[static_cast<std::size_t>(axis)].size;
    return shards;
}

/// Asks for the parts of a dimension, such as `3*tp`. What does not fit keeps it open, with words.
class PartsDialog : public QInputDialog {
public:
    /// Does the split; returns why it cannot be done, empty where it was done.
    using Split = std::function<QString(const QString& parts)>;

    PartsDialog(const QString& explanation, const QString& parts, Split split, QWidget* parent)
        : QInputDialog(parent), m_explanation(explanation), m_split(std::move(split)) {
        setObjectName(QStringLiteral("partsDialog"));
        setAttribute(Qt::WA_DeleteOnClose);
        setWindowTitle(TensorEditor::tr("Split in Parts"));
        setLabelText(m_explanation);
        setTextValue(parts);
        // Words about tensors are plain text, and may be long.
        for (auto* label : findChildren<QLabel*>()) {
            label->setTextFormat(Qt::PlainText);
            label->setWordWrap(true);
        }
    }
    void accept() override {
        const QString refusal = m_split(textValue().trimmed());
        if (refusal.isEmpty()) {
            QInputDialog::accept();
            return;
        }
        setLabelText(m_explanation + QStringLiteral("\n\n⚠ ") + refusal);
        if (auto* field = findChild<QLineEdit*>()) {
            field->setFocus();
            field->selectAll();
        }
    }

private:
    QString m_explanation;
    Split m_split;
};

}  // namespace

TensorEditor::TensorEditor(EditorSession* session, QWidget* parent)
    : QWidget(parent), m_session(session) {
    m_title = new ElidedLabel(this);
    QFont bold = font();
    bold.setBold(true);
    m_title->setFont(bold);
    m_role = new QLabel(this);
    m_role->setTextFormat(Qt::PlainText);
    m_role->setProperty("role", "muted");
    m_places = new QToolButton(this);
    m_places->setText(tr("Go to"));
    m_places->setToolTip(tr("Producer and consumers of the tensor"));
    m_places->setPopupMode(QToolButton::InstantPopup);
    m_places->setFocusPolicy(Qt::StrongFocus);
    auto* menu = new QMenu(m_places);
    m_places->setMenu(menu);
    connect(menu, &QMenu::aboutToShow, this, [this, menu] { fillPlaces(menu); });

    m_grid = new QGridLayout;
    m_grid->setColumnStretch(1, 1);
    m_grid->setHorizontalSpacing(8);
    m_grid->setVerticalSpacing(4);

    m_hint = new QLabel(this);
    m_reason = new QLabel(this);
    for (QLabel* label : {m_hint, m_reason}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setProperty("role", "muted");
    }
    m_reason->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);

    m_replicate = new QPushButton(tr("Replicate"), this);
    m_replicate->setObjectName(QStringLiteral("replicate"));
    m_replicate->setToolTip(tr("Whole on all devices of the node"));
    m_remove = new QPushButton(tr("Remove"), this);
    m_remove->setObjectName(QStringLiteral("removeSpec"));
    m_remove->setToolTip(tr("Remove the annotation, so that the layout is inferred"));
    m_copy = new QPushButton(themedIcon(QStringLiteral("copy")), tr("Copy"), this);
    m_copy->setToolTip(tr("Copy the layout as text"));
    connect(m_replicate, &QPushButton::clicked, this, &TensorEditor::replicate);
    connect(m_remove, &QPushButton::clicked, this, &TensorEditor::remove);
    connect(m_copy, &QPushButton::clicked, this, &TensorEditor::copyLayout);

    auto* titleRow = new QHBoxLayout;
    titleRow->addWidget(m_title, 1);
    titleRow->addWidget(m_places);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(6);
    for (QPushButton* button : {m_replicate, m_remove, m_copy})
        buttons->addWidget(button);
    buttons->addStretch(1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    column->addLayout(titleRow);
    column->addWidget(m_role);
    column->addLayout(m_grid);
    column->addWidget(m_hint);
    column->addLayout(buttons);
    column->addWidget(m_reason);
}

AxisPicker* TensorEditor::picker(int dim) const {
    return m_rows[static_cast<std::size_t>(dim)].picker;
}

void TensorEditor::show(std::shared_ptr<const Analysis> analysis,
                        std::vector<TensorSlot> tensorSlots) {
    m_analysis = std::move(analysis);
    m_slots = std::move(tensorSlots);
    refresh();
}

void TensorEditor::refresh() {
    const ValueId value =
        m_analysis && !m_slots.empty() ? valueAt(m_analysis->graph(), m_slots.front()) : ValueId();
    setVisible(static_cast<bool>(value));
    if (!value)
        return;
    refreshTitle(m_analysis->graph().value(value));
    refreshDimensions(m_analysis->shapes->of(value));
    refreshReason();
}

void TensorEditor::refreshTitle(const ValueInfo& value) {
    m_title->setText(oneLine(value.name, 500));
    QStringList role{m_slots.front().output ? tr("Output %1").arg(m_slots.front().slot)
                                            : tr("Input %1").arg(m_slots.front().slot)};
    if (value.kind == ValueKind::GraphInput)
        role << tr("model input");
    if (value.kind == ValueKind::Initializer)
        role << tr("initializer");
    if (value.isGraphOutput)
        role << tr("model output");
    role << shapeText(m_analysis->shapes->of(value.id));
    m_role->setText(role.join(QStringLiteral(" · ")));
}

void TensorEditor::addRow() {
    const int dim = static_cast<int>(m_rows.size());
    Row row{new QLabel(this), new AxisPicker(this), new QLabel(this)};
    row.dimension->setTextFormat(Qt::PlainText);
    row.result->setTextFormat(Qt::PlainText);
    row.picker->setObjectName(QStringLiteral("axisPicker%1").arg(dim));
    m_grid->addWidget(row.dimension, dim, 0);
    m_grid->addWidget(row.picker, dim, 1);
    m_grid->addWidget(row.result, dim, 2);
    connect(row.picker, &AxisPicker::axesChosen, this,
            [this, dim](const std::vector<int>& axes) { choose(dim, axes); });
    connect(row.picker, &AxisPicker::partsWanted, this, [this, dim] { askForParts(dim); });
    m_rows.push_back(row);
}

void TensorEditor::refreshDimensions(const TensorInfo& info) {
    const std::size_t rank = info.hasRank ? std::min(info.dims.size(), kMaxRows) : 0;
    while (m_rows.size() < rank)
        addRow();
    const bool editable = m_analysis->hasConfiguration && info.concrete();
    auto sharding = shardingAt(m_session->document(), *m_analysis, m_slots.front());
    const LayoutRef unexplained =
        unexplainedAt(m_session->document(), *m_analysis, m_slots.front());
    if (!sharding || sharding->dims.size() != info.dims.size())
        sharding = MeshSharding{std::vector<std::vector<MeshComponent>>(info.dims.size())};
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        const bool used = i < rank;
        for (QWidget* widget :
             {static_cast<QWidget*>(m_rows[i].dimension), static_cast<QWidget*>(m_rows[i].picker),
              static_cast<QWidget*>(m_rows[i].result)})
            widget->setVisible(used);
        m_rows[i].picker->setEnabled(editable);
        if (used)
            refreshRow(static_cast<int>(i), info, *sharding, unexplained);
    }
    const bool has = editable && std::ranges::any_of(m_slots, [this](TensorSlot slot) {
                         return hasSpec(m_session->document(), *m_analysis, slot);
                     });
    m_replicate->setEnabled(editable);
    m_remove->setEnabled(has);
    m_copy->setEnabled(m_analysis->hasConfiguration);
    QString hint;
    if (!m_analysis->hasConfiguration)
        hint = tr("Add a device configuration to assign mesh axes.");
    else if (!info.concrete())
        hint = tr(
            "The shape is not known, so that nothing can be assigned. Give sizes to the symbols.");
    else if (unexplained)
        hint = tr("No axes of the mesh explain this layout. Choosing axes replaces it.");
    m_hint->setText(hint);
    m_hint->setVisible(!hint.isEmpty());
}

void TensorEditor::refreshRow(int dim, const TensorInfo& info, const MeshSharding& sharding,
                              LayoutRef unexplained) {
    const Row& row = m_rows[static_cast<std::size_t>(dim)];
    const Mesh& mesh = m_analysis->configuration.mesh;
    const auto& components = sharding.dims[static_cast<std::size_t>(dim)];
    const std::int64_t size = info.dims[static_cast<std::size_t>(dim)];
    const QString symbol = dimensionSymbol(info, static_cast<std::size_t>(dim));
    row.dimension->setText(symbol.isEmpty() ? tr("dim %1").arg(dim)
                                            : tr("dim %1 · %2").arg(dim).arg(oneLine(symbol, 14)));
    row.dimension->setToolTip(toolTipText(symbol));
    std::vector<int> usedBy(mesh.axes.size(), -1);
    for (std::size_t other = 0; other < sharding.dims.size(); ++other)
        for (const int axis : axesOf(sharding.dims[other]))
            if (static_cast<int>(other) != dim)
                usedBy[static_cast<std::size_t>(axis)] = static_cast<int>(other);
    const std::vector<int> axes =
        m_analysis->hasConfiguration ? axesOf(components) : std::vector<int>();
    const bool otherwise = unexplained && unexplained->isSplit(static_cast<std::size_t>(dim));
    row.picker->show(mesh, axes, usedBy,
                     otherwise               ? tr("otherwise")
                     : components.size() > 1 ? toQt(componentsText(mesh, components))
                                             : QString());
    row.picker->setAccessibleName(tr("Axes of dimension %1").arg(dim));

    const std::int64_t shards = product(mesh, axes);
    const bool uneven = components.size() < 2 && shards > 1 && size >= 0 && size % shards != 0;
    QString result = size < 0 ? QStringLiteral("?") : splitText(size, shards);
    // The picker says which parts.
    if (components.size() > 1 && size >= 0)
        result = tr("%1 → %2 shards").arg(size).arg(shards);
    if (otherwise) {
        std::int64_t count = 1;
        for (const Component& c : unexplained->dims()[static_cast<std::size_t>(dim)])
            count *= c.shards;
        result = tr("%1 → %2 shards").arg(size).arg(count);
    }
    row.result->setText(uneven ? QStringLiteral("⚠ ") + result : result);
    const CanvasTheme theme = CanvasTheme::fromPalette(palette());
    QPalette colours = palette();
    if (uneven)
        colours.setColor(QPalette::WindowText, theme.warning);
    row.result->setPalette(colours);
    row.result->setToolTip(
        !uneven ? QString()
        : shards > size
            ? tr("%1 does not fill %2 shards: some devices hold nothing").arg(size).arg(shards)
            : tr("%1 is not divisible by %2: the shards differ in size").arg(size).arg(shards));
}

void TensorEditor::refreshReason() {
    if (!m_analysis->hasConfiguration) {
        m_reason->hide();
        return;
    }
    const TensorSlot slot = m_slots.front();
    const QString words = toQt(explainSlot(m_analysis->meaningInput(), m_analysis->meaning,
                                           slot.node, slot.output, slot.slot));
    m_reason->setText(tr("Why: %1").arg(words.left(2000)));
    m_reason->setVisible(!words.isEmpty());
}

void TensorEditor::fillPlaces(QMenu* menu) {
    menu->clear();
    const GraphIndex& graph = m_analysis->graph();
    const ValueInfo& value = graph.value(valueAt(graph, m_slots.front()));
    const auto add = [&](const QString& text, NodeId node) {
        QAction* action = menu->addAction(menuText(text.arg(oneLine(graph.label(node), 60))));
        action->setEnabled(node != m_slots.front().node);
        connect(action, &QAction::triggered, this, [this, node] { emit nodeWanted(node); });
    };
    if (value.producer)
        add(tr("Producer: %1"), value.producer);
    menu->addSeparator();
    int shown = 0;
    for (const ValueUse& use : value.uses) {
        if (++shown > kMaxPlaces) {
            menu->addAction(
                    tr("%n more", nullptr, static_cast<int>(value.uses.size()) - kMaxPlaces))
                ->setEnabled(false);
            break;
        }
        add(tr("Consumer: %1"), use.node);
    }
    if (menu->isEmpty())
        menu->addAction(tr("Nothing else uses this tensor"))->setEnabled(false);
}

QString TensorEditor::places() const {
    if (m_slots.size() > 1)
        return tr("%1 nodes").arg(m_slots.size());
    const GraphIndex& graph = m_analysis->graph();
    return tr("%1 at %2")
        .arg(oneLine(graph.value(valueAt(graph, m_slots.front())).name, 30),
             oneLine(graph.label(m_slots.front().node), 30));
}

void TensorEditor::push(Result<Edit> edit, const QString& title) {
    if (edit)
        m_session->push(std::move(*edit), title);
    else
        emit refused(toQt(edit.error().text()));
}

bool TensorEditor::liesSo(int dim, const std::vector<int>& axes) const {
    return std::ranges::all_of(m_slots, [&](TensorSlot slot) {
        const auto sharding = shardingAt(m_session->document(), *m_analysis, slot);
        if (!sharding || static_cast<std::size_t>(dim) >= sharding->dims.size())
            return false;
        const auto& components = sharding->dims[static_cast<std::size_t>(dim)];
        return components.size() < 2 && axesOf(components) == axes;
    });
}

void TensorEditor::choose(int dim, const std::vector<int>& axes) {
    // Nothing is written that changes nothing; Replicate makes a layout explicit.
    if (liesSo(dim, axes))
        return;
    const QString names = axisNames(m_analysis->configuration.mesh, axes);
    const QString title = axes.empty()
                              ? tr("Do not split dimension %1 of %2").arg(dim).arg(places())
                          : axes.size() == 1 ? tr("Assign axis %1 to %2").arg(names, places())
                                             : tr("Assign axes %1 to %2").arg(names, places());
    push(assignAxes(m_session->document(), *m_analysis, m_slots, dim, axes), title);
}

void TensorEditor::askForParts(int dim) {
    const TensorSlot slot = m_slots.front();
    const TensorInfo& info = m_analysis->shapes->of(valueAt(m_analysis->graph(), slot));
    const auto sharding = shardingAt(m_session->document(), *m_analysis, slot);
    const auto at = static_cast<std::size_t>(dim);
    const QString explanation = tr("Parts of dimension %1 (size %2), outermost first.\n"
                                   "3*tp cuts inside each of three parts (a fused QKV weight),\n"
                                   "64/tp*16 by heads of 16.")
                                    .arg(dim)
                                    .arg(info.dims[at]);
    const QString present =
        sharding && at < sharding->dims.size()
            ? toQt(componentsText(m_analysis->configuration.mesh, sharding->dims[at]))
            : QString();
    const auto split = [this, dim, slot](const QString& parts) {
        // Another tensor may be shown by now.
        return m_analysis && !m_slots.empty() && m_slots.front() == slot ? chooseParts(dim, parts)
                                                                         : QString();
    };
    (new PartsDialog(explanation, present, split, this))->open();
}

QString TensorEditor::chooseParts(int dim, const QString& parts) {
    if (parts.isEmpty()) {
        choose(dim, {});
        return {};
    }
    Result<Edit> edit =
        assignComponents(m_session->document(), *m_analysis, m_slots, dim, fromQt(parts));
    if (!edit)
        return toQt(edit.error().text());
    m_session->push(
        std::move(*edit),
        tr("Split dimension %1 of %2 as %3").arg(dim).arg(places(), oneLine(parts, 30)));
    return {};
}

void TensorEditor::replicate() {
    push(assignReplicated(m_session->document(), *m_analysis, m_slots),
         tr("Replicate %1").arg(places()));
}

void TensorEditor::remove() {
    push(removeSpecs(m_session->document(), *m_analysis, m_slots),
         tr("Remove layout of %1").arg(places()));
}

void TensorEditor::copyLayout() const {
    if (!m_analysis || m_slots.empty())
        return;
    const TensorSlot slot = m_slots.front();
    QString text = tr("everywhere");
    if (const SlotMeaning* meaning = meaningAt(*m_analysis, slot))
        text = meaning->layout ? toQt(describe(*meaning->layout, m_analysis->configuration.mesh))
                               : sourceText(meaning->source);
    const std::string& name = m_analysis->graph().value(valueAt(m_analysis->graph(), slot)).name;
    copyText(toQt(name) + QStringLiteral(": ") + text);
}

}  // namespace shardwright
