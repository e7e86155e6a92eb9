// SPDX-License-Identifier: Apache-2.0
#include "ui/window/preferences_dialog.h"

#include "ui/panels/diagnostics_model.h"
#include "ui/window/text.h"
#include "ui/window/user_rules_file.h"

#include <QBoxLayout>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

namespace shardwright {

PreferencesDialog::PreferencesDialog(UserRulesFile* rules, QWidget* parent)
    : QDialog(parent), m_rules(rules) {
    setObjectName(QStringLiteral("preferencesDialog"));
    setWindowTitle(tr("Preferences"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    QPushButton* close = buttons->button(QDialogButtonBox::Close);
    // Enter in the line takes the path and does not end the dialog.
    close->setAutoDefault(false);
    // The style's icon does not follow the theme.
    close->setIcon({});
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addWidget(buildRules());
    column->addStretch(1);
    column->addWidget(buttons);
    connect(m_rules, &UserRulesFile::changed, this, &PreferencesDialog::refresh);
    refresh();
    resize(620, 260);
}

QWidget* PreferencesDialog::buildRules() {
    auto* box = new QWidget(this);
    auto* title = new QLabel(tr("&Rules of your own operators"), box);
    title->setProperty("role", "heading");
    title->setIndent(0);
    auto* hint = new QLabel(
        tr("An operator that Shardwright does not know runs whole on each device. A file of rules "
           "says how it may be split; docs/user-rules.md describes it. It is read again when it "
           "changes."),
        box);
    hint->setProperty("role", "muted");
    hint->setWordWrap(true);
    m_path = new QLineEdit(box);
    m_path->setObjectName(QStringLiteral("rulesPath"));
    m_path->setPlaceholderText(tr("No file"));
    m_path->setAccessibleName(tr("File of rules"));
    title->setBuddy(m_path);
    connect(m_path, &QLineEdit::editingFinished, this, [this] {
        const QString path = m_path->text().trimmed();
        if (QDir::toNativeSeparators(m_rules->path()) != path)
            m_rules->setPath(QDir::fromNativeSeparators(path));
    });
    const auto button = [&](const QString& text, const char* name) {
        auto* made = new QPushButton(text, box);
        made->setObjectName(QLatin1String(name));
        made->setAutoDefault(false);
        return made;
    };
    m_browse = button(tr("&Browse…"), "browseRules");
    m_reload = button(tr("Re&load"), "reloadRules");
    m_clear = button(tr("&Clear"), "clearRules");
    connect(m_browse, &QPushButton::clicked, this, &PreferencesDialog::browse);
    connect(m_reload, &QPushButton::clicked, m_rules, &UserRulesFile::reload);
    connect(m_clear, &QPushButton::clicked, this, [this] { m_rules->setPath({}); });
    m_state = new QLabel(box);
    m_state->setObjectName(QStringLiteral("rulesState"));
    m_state->setTextFormat(Qt::PlainText);
    m_state->setWordWrap(true);
    m_state->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* row = new QHBoxLayout;
    row->addWidget(m_path, 1);
    row->addWidget(m_browse);
    row->addWidget(m_reload);
    row->addWidget(m_clear);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(title);
    column->addWidget(hint);
    column->addLayout(row);
    column->addWidget(m_state);
    return box;
}

void PreferencesDialog::browse() {
    auto* dialog = new QFileDialog(this, tr("Rules of Your Own Operators"),
                                   QFileInfo(m_rules->path()).absolutePath(),
                                   tr("Text files (*.txt *.rules);;All files (*)"));
    dialog->setObjectName(QStringLiteral("rulesFileDialog"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, m_rules, &UserRulesFile::setPath);
    dialog->open();
}

void PreferencesDialog::refresh() {
    const bool some = !m_rules->path().isEmpty();
    m_path->setText(QDir::toNativeSeparators(m_rules->path()));
    m_reload->setEnabled(some);
    m_clear->setEnabled(some);
    const QString list = m_rules->operators().join(QStringLiteral(", "));
    const bool wrong = !m_rules->error().isEmpty();
    QString text;
    if (wrong)
        text =
            list.isEmpty()
                ? m_rules->error()
                : tr("%1\n\nWhat was read before stays in force: %2").arg(m_rules->error(), list);
    else if (m_rules->isReading())
        text = tr("Reading…");
    else if (some)
        text = list.isEmpty() ? tr("The file has no rule.") : tr("In force: %1").arg(list);
    QPalette colours = palette();
    if (wrong)
        colours.setColor(QPalette::WindowText, severityColour(Severity::Error, palette()));
    m_state->setPalette(colours);
    m_state->setText(text.left(2000));
}

}  // namespace shardwright
