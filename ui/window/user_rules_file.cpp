// SPDX-License-Identifier: Apache-2.0
#include "ui/window/user_rules_file.h"

#include "rules/rule_notation.h"
#include "rules/user_rules.h"
#include "ui/window/file_watch.h"
#include "ui/window/main_window.h"
#include "ui/window/text.h"

#include <QApplication>
#include <QFileInfo>
#include <QSettings>

namespace shardwright {
namespace {

QString pathKey() {
    return QStringLiteral("rulesFile");
}

}  // namespace

struct UserRulesFile::Read {
    UserRules rules;
    QStringList operators;
    QString error;
};

UserRulesFile::UserRulesFile(EditorSession* session, QObject* parent)
    : QObject(parent), m_session(session), m_watch(new FileWatch(this)) {
    connect(m_watch, &FileWatch::changedOnDisk, this, &UserRulesFile::reload);
    adopt(QSettings().value(pathKey()).toString());
}

void UserRulesFile::setPath(const QString& path) {
    const QString wanted = path.isEmpty() ? QString() : QFileInfo(path).absoluteFilePath();
    QSettings().setValue(pathKey(), wanted);
    for (QWidget* widget : QApplication::topLevelWidgets())
        if (auto* window = qobject_cast<MainWindow*>(widget))
            window->userRules()->adopt(wanted);
    // Its own window may be none of the application's yet.
    adopt(wanted);
}

void UserRulesFile::adopt(const QString& path) {
    if (path == m_path)
        return;
    m_path = path;
    m_watch->watch(path);
    m_error.clear();
    m_operators.clear();
    m_session->setUserRules({});
    reload();
}

void UserRulesFile::reload() {
    if (m_path.isEmpty()) {
        m_session->jobs()->cancel(JobTracker::Kind::Rules);
        emit changed();
        return;
    }
    m_session->jobs()->start<Read>(
        JobTracker::Kind::Rules,
        [path = m_path](const CancelToken&) {
            Read read;
            const auto text = readUserRules(toPath(path));
            const std::string name = fromQt(QFileInfo(path).fileName());
            const auto written = text ? parseRules(*text, name) : text.error();
            const auto registry = written
                                      ? withUserRules(Registry::standard(), *text, name)
                                      : Result<std::shared_ptr<const Registry>>(written.error());
            if (!registry) {
                read.error = toQt(registry.error().text());
                return read;
            }
            for (const WrittenRule& rule : *written) {
                const QString op =
                    toQt(rule.domain.empty() ? rule.op : rule.domain + "::" + rule.op);
                if (!read.operators.contains(op))
                    read.operators << op;
            }
            read.rules = {*registry, *text, fromQt(path)};
            return read;
        },
        [this](Read read) { take(std::move(read)); });
    emit changed();
}

void UserRulesFile::take(Read read) {
    m_error = read.error;
    if (m_error.isEmpty()) {
        m_operators = read.operators;
        m_session->setUserRules(std::move(read.rules));
    }
    emit changed();
}

bool UserRulesFile::isReading() const {
    return m_session->jobs()->isRunning(JobTracker::Kind::Rules);
}

}  // namespace shardwright
