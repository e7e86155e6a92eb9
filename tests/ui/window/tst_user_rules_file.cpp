// SPDX-License-Identifier: Apache-2.0
#include "ui/window/user_rules_file.h"

#include "check/assign.h"
#include "support/ui/editor_fixture.h"
#include "ui/panels/run_panel.h"
#include "ui/window/main_window.h"
#include "ui/window/message_bar.h"
#include "ui/window/preferences_dialog.h"
#include "ui/window/theme.h"
#include "ui/window/window_actions.h"

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QTest>

#include <optional>

using namespace shardwright;
using namespace shardwright::test;

namespace {

constexpr const char* kRule = "com.example::Foo:\n    m k+, k+ n -> m n;\n";

/// y = Foo(x, w), an operator that nobody knows.
ModelBuilder custom() {
    return ModelBuilder{}
        .opset("com.example", 1)
        .input("x", {8, 16})
        .weight("w", {16, 32})
        .op("Foo", {"x", "w"}, {"y"}, "foo", {}, "com.example")
        .output("y", {8, 32});
}

}  // namespace

class TstUserRulesFile : public QObject {
    Q_OBJECT
private slots:
    void init() {
        m_box.emplace();
        applyTheme(ThemeChoice::Light);
        m_window.emplace();
        m_window->resize(1200, 800);
        m_window->show();
    }
    void cleanup() {
        m_window.reset();
        m_box.reset();
    }

    void aFileOfRulesIsInForceInEverythingThatIsShown() {
        split();
        QVERIFY(session().analysis()->count(Severity::Error) > 0);
        QVERIFY(!layoutOf("y"));
        use(kRule);
        QCOMPARE(rules()->operators(), QStringList{"com.example::Foo"});
        QCOMPARE(session().analysis()->count(Severity::Error), 0);
        QVERIFY(layoutOf("y"));
        // The split sum is joined.
        QCOMPARE(session().analysis()->communication.entries.size(), std::size_t(1));
        rules()->setPath({});
        QVERIFY(waitForAnalysis(session()));
        QVERIFY(session().analysis()->count(Severity::Error) > 0);
    }
    void aFileThatChangesIsReadAgain() {
        split();
        use("# nothing yet\n");
        QVERIFY(session().analysis()->count(Severity::Error) > 0);
        m_box->write("rules.txt", kRule);
        QTRY_COMPARE(rules()->operators(), QStringList{"com.example::Foo"});
        QVERIFY(waitForAnalysis(session()));
        QCOMPARE(session().analysis()->count(Severity::Error), 0);
    }
    void aMistakeIsShownWithItsPlaceAndTheRulesBeforeStayInForce() {
        split();
        use(kRule);
        m_box->write("rules.txt", "com.example::Foo:\n    m k+, k+ n - m n;\n");
        rules()->reload();
        QTRY_VERIFY(!rules()->error().isEmpty());
        QVERIFY2(rules()->error().startsWith("rules.txt:2:"), qPrintable(rules()->error()));
        QVERIFY(m_window->messageBar()->text().contains("rules.txt:2:"));
        QVERIFY(waitForAnalysis(session()));
        QCOMPARE(session().analysis()->count(Severity::Error), 0);
        m_box->write("rules.txt", kRule + std::string("# mended\n"));
        rules()->reload();
        QTRY_VERIFY(rules()->error().isEmpty());
    }
    void theSameTextIsNoNewAnalysis() {
        split();
        use(kRule);
        const auto before = session().analysis();
        rules()->reload();
        QTRY_VERIFY(!rules()->isReading());
        QVERIFY(session().isAnalysisCurrent());
        QCOMPARE(session().analysis(), before);
    }
    void theFileIsRememberedAndReachesOtherWindows() {
        MainWindow other;
        other.show();
        split();
        use(kRule);
        QCOMPARE(other.userRules()->path(), rules()->path());
        QTRY_COMPARE(other.userRules()->operators(), QStringList{"com.example::Foo"});
        m_window.reset();
        m_window.emplace();
        QTRY_COMPARE(rules()->operators(), QStringList{"com.example::Foo"});
        split();
        QCOMPARE(session().analysis()->count(Severity::Error), 0);
    }
    void aFileThatIsNotThereYetIsReadOnceItIs() {
        rules()->setPath(m_box->path("later.txt"));
        QTRY_VERIFY(rules()->error().contains("later.txt"));
        m_box->write("later.txt", kRule);
        QTRY_COMPARE(rules()->operators(), QStringList{"com.example::Foo"});
        QVERIFY(rules()->error().isEmpty());
    }
    void theWorkerGetsTheRulesThatAreInForce() {
        split();
        use(kRule);
        QCOMPARE(session().userRules().text, std::string(kRule));
        QCOMPARE(session().userRules().name, m_box->path("rules.txt").toStdString());
        QVERIFY(session().options().registry);
        const QString script =
            m_box->write("worker.sh", "#!/bin/sh\ntimeout 1 cat > " +
                                          m_box->path("request").toStdString() + "\n");
        QFile::setPermissions(script, QFile::permissions(script) | QFile::ExeOwner);
        qputenv("SHARDWRIGHT_WORKER", script.toLocal8Bit());
        m_window->runPanel()->start();
        QTRY_VERIFY(!m_window->runPanel()->isRunning());
        qunsetenv("SHARDWRIGHT_WORKER");
        QVERIFY(Sandbox::read(m_box->path("request")).contains(kRule));
    }

    void thePreferencesTakeAPathAndShowWhatIsWrongInIt() {
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&*m_window));
        QTest::keyClick(&*m_window, Qt::Key_Comma, Qt::ControlModifier);
        auto* dialog = m_window->findChild<PreferencesDialog*>();
        QVERIFY(dialog);
        auto* path = dialog->findChild<QLineEdit*>("rulesPath");
        const auto* state = dialog->findChild<QLabel*>("rulesState");
        const QString file = m_box->write("rules.txt", "Foo:\n  x\n");
        path->setFocus();
        QTest::keyClicks(path, file);
        QTest::keyClick(path, Qt::Key_Return);
        QVERIFY(dialog->isVisible());
        QTRY_VERIFY2(state->text().startsWith("rules.txt:"), qPrintable(state->text()));
        // In the dialog only.
        QVERIFY(!m_window->messageBar()->isVisible());
        m_box->write("rules.txt", kRule);
        dialog->findChild<QPushButton*>("reloadRules")->click();
        QTRY_COMPARE(state->text(), QString("In force: com.example::Foo"));
        QCOMPARE(QSettings().value("rulesFile").toString(), file);
        dialog->findChild<QPushButton*>("clearRules")->click();
        QVERIFY(path->text().isEmpty() && state->text().isEmpty());
        QVERIFY(QSettings().value("rulesFile").toString().isEmpty());
        QVERIFY(!dialog->findChild<QPushButton*>("reloadRules")->isEnabled());
        QTest::keyClick(dialog, Qt::Key_Escape);
        QTRY_VERIFY(!m_window->findChild<PreferencesDialog*>());
    }

private:
    EditorSession& session() { return *m_window->session(); }
    UserRulesFile* rules() { return m_window->userRules(); }
    /// The rules of a file "rules.txt".
    void use(const std::string& text) {
        rules()->setPath(m_box->write("rules.txt", text));
        QTRY_VERIFY(!rules()->isReading());
        QVERIFY(waitForAnalysis(session()));
    }
    /// Opens the custom model and splits both inputs of its node along the summed dimension.
    void split() {
        QVERIFY(openAndAnalyse(session(), m_box->write("m.onnx", custom().bytes())));
        addMesh(session());
        const NodeId foo = nodeNamed(session().document().graph(), "foo");
        const TensorSlot x{foo, false, 0}, w{foo, false, 1};
        for (const auto& [slot, dim] : {std::pair(x, 1), std::pair(w, 0)}) {
            session().push(
                assignAxes(session().document(), *session().analysis(), {&slot, 1}, dim, {0})
                    .value());
            QVERIFY(waitForAnalysis(session()));
        }
    }
    LayoutRef layoutOf(const char* value) {
        const ValueId id = valueNamed(session().document().graph(), value);
        return session().analysis()->meaning.values[id.index()].layout;
    }

    std::optional<Sandbox> m_box;
    std::optional<MainWindow> m_window;
};

QTEST_MAIN(TstUserRulesFile)
#include "tst_user_rules_file.moc"
