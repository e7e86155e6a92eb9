// SPDX-License-Identifier: Apache-2.0
#include "check/codes.h"

#include <QDir>
#include <QFile>
#include <QSet>
#include <QtTest>

using namespace shardwright;

class TstCodes : public QObject {
    Q_OBJECT
private slots:
    void everyCodeIsGivenOnce();
    void everyCodeHasItsPage();
    void everyPageHasItsCode();

private:
    QDir pages() const {
        return QDir(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/docs/diagnostics");
    }
};

void TstCodes::everyCodeIsGivenOnce() {
    QSet<QString> seen;
    for (const CodeInfo& info : allCodes()) {
        QVERIFY2(!seen.contains(info.code), info.code);
        seen.insert(info.code);
        QVERIFY2(*info.title && *info.why && *info.fix, info.code);
    }
}

// SHARDWRIGHT_UPDATE_DOCS=1 writes the pages instead of comparing them.
void TstCodes::everyCodeHasItsPage() {
    const bool update = qEnvironmentVariableIsSet("SHARDWRIGHT_UPDATE_DOCS");
    for (const CodeInfo& info : allCodes()) {
        const QByteArray wanted = QByteArray::fromStdString(codePage(info));
        QFile file(pages().filePath(QString(info.code) + ".md"));
        if (update) {
            QVERIFY(pages().mkpath(".") && file.open(QIODevice::WriteOnly));
            file.write(wanted);
            continue;
        }
        QVERIFY2(file.open(QIODevice::ReadOnly), info.code);
        QCOMPARE(file.readAll(), wanted);
    }
}

void TstCodes::everyPageHasItsCode() {
    QSet<QString> codes;
    for (const CodeInfo& info : allCodes())
        codes.insert(QString(info.code) + ".md");
    for (const QString& page : pages().entryList({"SW*.md"}))
        QVERIFY2(codes.contains(page), qPrintable(page));
}

QTEST_GUILESS_MAIN(TstCodes)
#include "tst_codes.moc"
