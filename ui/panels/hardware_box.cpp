// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/hardware_box.h"

#include "comm/installed_profiles.h"
#include "ui/window/calibration_client.h"
#include "ui/window/text.h"

#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QSettings>

#include <algorithm>

namespace shardwright {
namespace {

constexpr qint64 kMostBytes = 1 << 20;
constexpr int kWidestChars = 24;

enum Entry { Profile, ChooseFile, Measure };

QString settingsKey() {
    return QStringLiteral("hardwareProfile");
}

}  // namespace

HardwareBox::HardwareBox(QWidget* parent) : QComboBox(parent) {
    setAccessibleName(tr("Hardware profile"));
    setToolTip(tr("What predicts how long each collective takes, beside what was measured"));
    m_file = QSettings().value(settingsKey()).toString();
    const QString wanted = m_file;
    fill();
    const int index = findData(wanted);
    if (!wanted.isEmpty() && index > 0)
        setCurrentIndex(m_chosen = index);
    connect(this, &QComboBox::activated, this, &HardwareBox::take);
}

void HardwareBox::fill() {
    clear();
    const auto add = [this](const QString& text, const QString& path, const QString& toolTip) {
        addItem(text, path);
        setItemData(count() - 1, Profile, Qt::UserRole + 1);
        setItemData(count() - 1, toolTipText(toolTip), Qt::ToolTipRole);
    };
    add(tr("No prediction"), {}, tr("Collectives are measured only"));
    for (const auto& path : installedProfiles())
        add(toQt(path.stem().string()), toQt(path.string()), toQt(path.string()));
    if (const QFileInfo measured(CalibrationClient::profilePath()); measured.exists())
        add(tr("This machine"), measured.absoluteFilePath(),
            tr("Measured on %1")
                .arg(QLocale().toString(measured.lastModified(), QLocale::ShortFormat)));
    if (!m_file.isEmpty() && findData(m_file) < 0 && QFileInfo::exists(m_file))
        add(QFileInfo(m_file).fileName(), m_file, m_file);
    insertSeparator(count());
    addItem(tr("Choose a file…"));
    setItemData(count() - 1, ChooseFile, Qt::UserRole + 1);
    addItem(tr("Measure this machine…"));
    setItemData(count() - 1, Measure, Qt::UserRole + 1);
    setItemData(count() - 1,
                toolTipText(tr("Collectives and kernels, in some seconds; needs a quiet machine")),
                Qt::ToolTipRole);
}

void HardwareBox::take(int index) {
    const int entry = itemData(index, Qt::UserRole + 1).toInt();
    if (entry == Profile) {
        m_chosen = index;
        QSettings().setValue(settingsKey(), path());
        return;
    }
    setCurrentIndex(m_chosen);
    if (entry == Measure)
        emit measureWanted();
    else
        chooseFile();
}

void HardwareBox::chooseFile() {
    auto* dialog = new QFileDialog(this, tr("Choose a Hardware Profile"), {},
                                   tr("Hardware profiles (*.json);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &HardwareBox::choose);
    dialog->open();
}

void HardwareBox::choose(const QString& path) {
    m_file = path;
    fill();
    m_chosen = std::max(0, findData(path));
    setCurrentIndex(m_chosen);
    QSettings().setValue(settingsKey(), this->path());
}

void HardwareBox::chooseMeasured() {
    choose(QFileInfo(CalibrationClient::profilePath()).absoluteFilePath());
}

QString HardwareBox::path() const {
    return itemData(m_chosen).toString();
}

Result<std::string> HardwareBox::text() const {
    if (path().isEmpty())
        return std::string();
    QFile file(path());
    if (!file.open(QIODevice::ReadOnly))
        return Error{fromQt(file.errorString()), fromQt(path())};
    if (file.size() > kMostBytes)
        return Error{fromQt(tr("it is too large for a hardware profile")), fromQt(path())};
    return file.readAll().toStdString();
}

/// Not as wide as the longest name of a file.
QSize HardwareBox::sizeHint() const {
    return QComboBox::sizeHint().boundedTo(
        {fontMetrics().averageCharWidth() * kWidestChars + 40, 10000});
}

}  // namespace shardwright
