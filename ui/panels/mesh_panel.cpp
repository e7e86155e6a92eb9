// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/mesh_panel.h"

#include "ui/panels/chips.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"

#include <QBoxLayout>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableWidget>
#include <QToolButton>

#include <algorithm>

namespace shardwright {
namespace {

QTableWidget* smallTable(const QStringList& headers, QWidget* parent) {
    auto* table = new QTableWidget(0, static_cast<int>(headers.size()), parent);
    table->setHorizontalHeaderLabels(headers);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(24);
    table->setShowGrid(false);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->setTabKeyNavigation(false);
    return table;
}

/// So high that this many rows are seen whole.
int heightOf(const QTableWidget* table, int rows) {
    return table->horizontalHeader()->sizeHint().height() +
           rows * table->verticalHeader()->defaultSectionSize() + 2 * table->frameWidth();
}

constexpr int kSeenAxes = 4, kSeenStages = 3;  // at least, where there are so many

}  // namespace

MeshPanel::MeshPanel(EditorSession* session, QWidget* parent)
    : QWidget(parent), m_session(session) {
    m_stack = new QStackedWidget(this);
    auto* none = new QWidget(m_stack);
    auto* noneColumn = new QVBoxLayout(none);
    auto* hint =
        new QLabel(tr("A device mesh names the devices that the model runs on, as axes such as "
                      "dp=2, tp=4. This model has none yet."),
                   none);
    hint->setWordWrap(true);
    hint->setProperty("role", "muted");
    auto* add = new QPushButton(themedIcon(QStringLiteral("add")), tr("Add a mesh"), none);
    add->setObjectName(QStringLiteral("addFirstMesh"));
    connect(add, &QPushButton::clicked, this, &MeshPanel::addConfiguration);
    noneColumn->addWidget(hint);
    noneColumn->addWidget(add, 0, Qt::AlignLeft);
    noneColumn->addStretch(1);

    auto* some = new QWidget(m_stack);
    auto* column = new QVBoxLayout(some);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(buildConfigurations());
    column->addWidget(buildAxes(), 3);
    column->addWidget(buildStages(), 0);
    m_stack->addWidget(none);
    m_stack->addWidget(some);
    m_stack->addWidget(new QWidget(m_stack));
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(10, 8, 10, 10);
    outer->addWidget(m_stack);
    m_stack->setCurrentIndex(2);
}

QToolButton* MeshPanel::button(const QString& icon, const QString& tip, void (MeshPanel::*slot)()) {
    auto* result = new QToolButton(this);
    result->setIcon(themedIcon(icon));
    result->setToolTip(tip);
    result->setAccessibleName(tip);
    result->setAutoRaise(true);
    result->setFocusPolicy(Qt::StrongFocus);
    connect(result, &QToolButton::clicked, this, slot);
    return result;
}

QWidget* MeshPanel::buildConfigurations() {
    auto* box = new QWidget(this);
    m_configurations = new QComboBox(box);
    m_configurations->setObjectName(QStringLiteral("configurations"));
    m_configurations->setEditable(true);
    m_configurations->setInsertPolicy(QComboBox::NoInsert);
    m_configurations->setToolTip(
        tr("The configuration that is shown; type another name to rename it"));
    m_configurations->setAccessibleName(tr("Device configuration"));
    m_configurations->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(m_configurations, &QComboBox::activated, this,
            [this](int index) { m_session->setConfiguration(m_configurations->itemText(index)); });
    connect(m_configurations->lineEdit(), &QLineEdit::editingFinished, this, [this] {
        const QString name = m_configurations->currentText();
        // Choosing from the list is no renaming.
        if (!m_filling && m_analysis && m_configurations->findText(name) < 0)
            renameConfiguration(name);
    });
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(2);
    row->addWidget(m_configurations, 1);
    row->addWidget(
        button(QStringLiteral("add"), tr("Add a configuration"), &MeshPanel::addConfiguration));
    row->addWidget(button(QStringLiteral("remove"), tr("Remove this configuration"),
                          &MeshPanel::removeConfiguration));
    return box;
}

QWidget* MeshPanel::buildAxes() {
    auto* box = new QWidget(this);
    m_axes = smallTable({tr("Axis"), tr("Size")}, box);
    m_axes->setObjectName(QStringLiteral("axes"));
    m_axes->setAccessibleName(tr("Axes of the mesh"));
    connect(m_axes, &QTableWidget::cellChanged, this, &MeshPanel::axisEdited);
    m_devices = new QLabel(box);
    m_devices->setTextFormat(Qt::PlainText);
    m_devices->setProperty("role", "muted");
    auto* row = new QHBoxLayout;
    row->setSpacing(2);
    row->addWidget(m_devices, 1);
    row->addWidget(button(QStringLiteral("add"), tr("Add an axis"), &MeshPanel::addAxis));
    row->addWidget(button(QStringLiteral("remove"), tr("Remove the axis"), &MeshPanel::removeAxis));
    row->addWidget(button(QStringLiteral("up"), tr("Move the axis outwards"), &MeshPanel::axisUp));
    row->addWidget(
        button(QStringLiteral("down"), tr("Move the axis inwards"), &MeshPanel::axisDown));
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(m_axes, 1);
    column->addLayout(row);
    return box;
}

QWidget* MeshPanel::buildStages() {
    auto* box = new QWidget(this);
    m_stages = smallTable({tr("Stage"), tr("Devices")}, box);
    m_stages->setObjectName(QStringLiteral("stages"));
    m_stages->setAccessibleName(tr("Devices of the pipeline stages"));
    m_stages->setToolTip(tr("Devices of each pipeline stage, such as 0-3, 6. An axis named pp "
                            "binds stages by itself."));
    connect(m_stages, &QTableWidget::cellChanged, this, &MeshPanel::stageEdited);
    auto* row = new QHBoxLayout;
    auto* label = new QLabel(tr("Pipeline stages"), box);
    label->setProperty("role", "muted");
    row->addWidget(label, 1);
    row->addWidget(
        button(QStringLiteral("add"), tr("Bind the next stage to devices"), &MeshPanel::addStage));
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addLayout(row);
    column->addWidget(m_stages, 1);
    return box;
}

void MeshPanel::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    m_analysis = std::move(analysis);
    refresh();
}

void MeshPanel::refresh() {
    if (!m_analysis) {
        m_stack->setCurrentIndex(2);
        return;
    }
    m_stack->setCurrentIndex(m_analysis->hasConfiguration ? 1 : 0);
    m_filling = true;
    m_configurations->clear();
    for (const std::string& name : configurationNames(m_analysis->document.annotations))
        m_configurations->addItem(toQt(name));
    m_configurations->setCurrentText(toQt(m_analysis->configuration.name));
    m_configurations->setCurrentIndex(
        m_configurations->findText(toQt(m_analysis->configuration.name)));
    refreshAxes();
    refreshStages();
    m_filling = false;
}

void MeshPanel::refreshAxes() {
    const int current = m_axes->currentRow();
    const Mesh& mesh = this->mesh();
    m_axes->setRowCount(static_cast<int>(mesh.axes.size()));
    for (int row = 0; row < m_axes->rowCount(); ++row) {
        const MeshAxis& axis = mesh.axes[static_cast<std::size_t>(row)];
        auto* name =
            new QTableWidgetItem(axisIcon({row}, palette(), devicePixelRatioF()), toQt(axis.name));
        m_axes->setItem(row, 0, name);
        auto* size = new QTableWidgetItem;
        // A number as edit role gives a spin box.
        size->setData(Qt::EditRole, axis.size);
        size->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
        m_axes->setItem(row, 1, size);
    }
    m_axes->setMinimumHeight(heightOf(m_axes, std::clamp(m_axes->rowCount(), 1, kSeenAxes)));
    m_axes->setCurrentCell(std::clamp(current, 0, std::max(0, m_axes->rowCount() - 1)), 0);
    const Configuration& configuration = m_analysis->configuration;
    QString text = configuration.deviceCount == 1 ? tr("1 device")
                                                  : tr("%1 devices").arg(configuration.deviceCount);
    if (configuration.meshSource == Configuration::MeshSource::Derived)
        text += tr(" · mesh derived");
    if (configuration.meshSource == Configuration::MeshSource::Default)
        text += tr(" · no mesh in the file");
    m_devices->setText(text);
}

void MeshPanel::refreshStages() {
    const Configuration& configuration = m_analysis->configuration;
    const auto& bound = configuration.boundStages;
    m_stages->setVisible(!bound.empty());
    m_stages->setRowCount(static_cast<int>(bound.size()));
    for (int row = 0; row < m_stages->rowCount(); ++row) {
        const auto& [stage, devices] = bound[static_cast<std::size_t>(row)];
        auto* number = new QTableWidgetItem(QString::number(stage));
        number->setFlags(number->flags() & ~Qt::ItemIsEditable);
        m_stages->setItem(row, 0, number);
        m_stages->setItem(row, 1, new QTableWidgetItem(deviceList(devices)));
    }
    m_stages->setMinimumHeight(
        heightOf(m_stages, std::clamp(m_stages->rowCount(), 1, kSeenStages)));
    m_stages->setMaximumHeight(heightOf(m_stages, std::max(1, m_stages->rowCount())));
}

}  // namespace shardwright
