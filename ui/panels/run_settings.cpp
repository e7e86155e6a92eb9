// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/run_settings.h"

#include "ui/panels/flow_layout.h"
#include "ui/panels/hardware_box.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QSpinBox>

namespace shardwright {
namespace {

constexpr int kMaxPasses = 1000;
constexpr int kSeconds = 600, kMaxSeconds = 24 * 3600;  ///< As the command line has it, and a day.

}  // namespace

RunSettings::RunSettings(QWidget* first, QWidget* last, QWidget* parent) : QWidget(parent) {
    m_verify = new QComboBox;
    m_verify->addItem(tr("Verify outputs"), static_cast<int>(VerifyMode::Outputs));
    m_verify->addItem(tr("Verify all tensors"), static_cast<int>(VerifyMode::All));
    m_verify->addItem(tr("Do not verify"), static_cast<int>(VerifyMode::None));
    m_verify->setAccessibleName(tr("Verification"));
    m_verify->setToolTip(tr("Runs the model on one device, too, and compares"));
    const auto spin = [](const QString& name, const QString& prefix, int least, int most) {
        auto* box = new QSpinBox;
        box->setAccessibleName(name);
        box->setRange(least, most);
        box->setValue(1);
        box->setPrefix(prefix + u' ');
        return box;
    };
    m_warmups = spin(tr("Passes before those that are measured"), tr("warm up"), 0, kMaxPasses);
    m_warmups->setObjectName(QStringLiteral("warmups"));
    m_warmups->setSuffix(QStringLiteral(" ×"));
    m_warmups->setToolTip(tr("Passes before those that are measured"));
    m_repeats = spin(tr("How often the model is run"), tr("repeat"), 1, kMaxPasses);
    m_repeats->setObjectName(QStringLiteral("repeats"));
    m_repeats->setSuffix(QStringLiteral(" ×"));
    m_repeats->setToolTip(
        tr("Passes that are measured: the run takes their median, and devices, collectives and the "
           "timeline are of the last one"));
    m_operators = new QCheckBox(tr("Operator times"));
    m_operators->setObjectName(QStringLiteral("operatorTimes"));
    m_operators->setToolTip(
        tr("Measures each operator with ONNX Runtime's profiler, which slows small ones down"));
    m_hardware = new HardwareBox;
    m_seed = spin(tr("Seed of the random inputs"), tr("seed"), 0, 999999);
    m_seed->setToolTip(tr("Of the random inputs"));
    m_timeLimit = spin(tr("Time limit of a run in seconds"), tr("at most"), 0, kMaxSeconds);
    m_timeLimit->setObjectName(QStringLiteral("timeLimit"));
    m_timeLimit->setSuffix(QStringLiteral(" s"));
    m_timeLimit->setValue(kSeconds);
    m_timeLimit->setSpecialValueText(tr("no time limit"));
    m_timeLimit->setToolTip(tr("A run that takes longer is given up; 0: no limit"));
    m_inputs = new QLineEdit;
    m_inputs->setAccessibleName(tr("File or folder with inputs"));
    m_inputs->setPlaceholderText(tr("random inputs"));
    m_inputs->setClearButtonEnabled(true);
    m_inputs->setToolTip(
        tr("A .npz file, or a folder with input_0.pb, input_1.pb …; empty: random"));
    QAction* choose =
        m_inputs->addAction(themedIcon(QStringLiteral("open")), QLineEdit::TrailingPosition);
    choose->setToolTip(tr("Choose a file"));
    connect(choose, &QAction::triggered, this, &RunSettings::chooseInputs);
    auto* flow = new FlowLayout(this);
    for (QWidget* widget :
         {first, static_cast<QWidget*>(m_verify), static_cast<QWidget*>(m_warmups),
          static_cast<QWidget*>(m_repeats), static_cast<QWidget*>(m_operators),
          static_cast<QWidget*>(m_hardware), static_cast<QWidget*>(m_seed),
          static_cast<QWidget*>(m_timeLimit), static_cast<QWidget*>(m_inputs), last})
        flow->addWidget(widget);
}

Result<void> RunSettings::fill(RunRequest& request) const {
    request.verify = static_cast<VerifyMode>(m_verify->currentData().toInt());
    request.warmups = m_warmups->value();
    request.repeats = m_repeats->value();
    request.profile = m_operators->isChecked();
    request.seed = static_cast<std::uint64_t>(m_seed->value());
    request.timeLimitSeconds = m_timeLimit->value();
    request.inputsPath = fromQt(m_inputs->text().trimmed());
    auto hardware = m_hardware->text();
    if (!hardware)
        return hardware.error();
    request.hardware = std::move(*hardware);
    request.hardwareName = fromQt(m_hardware->path());
    return {};
}

void RunSettings::setEditable(bool editable) {
    for (QWidget* widget : {static_cast<QWidget*>(m_verify), static_cast<QWidget*>(m_warmups),
                            static_cast<QWidget*>(m_repeats), static_cast<QWidget*>(m_operators),
                            static_cast<QWidget*>(m_hardware), static_cast<QWidget*>(m_seed),
                            static_cast<QWidget*>(m_timeLimit), static_cast<QWidget*>(m_inputs)})
        widget->setEnabled(editable);
}

void RunSettings::chooseInputs() {
    auto* dialog = new QFileDialog(this, tr("Choose Inputs"), {},
                                   tr("Arrays (*.npz);;Tensors (*.pb);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        // Of a folder with input_0.pb any file may be chosen.
        m_inputs->setText(path.endsWith(QStringLiteral(".pb")) ? QFileInfo(path).absolutePath()
                                                               : path);
    });
    dialog->open();
}

}  // namespace shardwright
