// SPDX-License-Identifier: Apache-2.0
#include "model/plain_text.h"

#include <QtTest/QTest>

using namespace shardwright;

class TstPlainText : public QObject {
    Q_OBJECT

private slots:
    void ordinaryTextStays_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("words") << QByteArray("MatMul `mm1`: 2 of the 4 cells  have no device ");
        QTest::newRow("other scripts") << QByteArray("日本 µ · ÷ 😀");
    }
    void ordinaryTextStays() {
        QFETCH(QByteArray, text);
        QCOMPARE(QByteArray::fromStdString(oneLine(text.toStdString())), text);
    }

    void whatATerminalWouldObeyIsReplaced_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("shown");
        const QByteArray mark("\xEF\xBF\xBD");
        QTest::newRow("line break") << QByteArray("a\nSW1 error") << "a" + mark + "SW1 error";
        QTest::newRow("escape") << QByteArray("\x1b[2J") << mark + "[2J";
        QTest::newRow("NUL") << QByteArray("a\0b", 3) << "a" + mark + "b";
        QTest::newRow("DEL") << QByteArray("\x7f") << mark;
        QTest::newRow("C1 as UTF-8") << QByteArray("\xC2\x9B"
                                                   "31m")
                                     << mark + "31m";
        QTest::newRow("right to left") << QByteArray("\xE2\x80\xAE"
                                                     "x")
                                       << mark + "x";
        QTest::newRow("line separator") << QByteArray("\xE2\x80\xA8") << mark;
        QTest::newRow("no UTF-8") << QByteArray("a\xFF"
                                                "b")
                                  << "a" + mark + "b";
        QTest::newRow("cut off") << QByteArray("a\xE6\x97") << "a" + mark + mark;
        QTest::newRow("overlong") << QByteArray("\xC0\x8A") << mark + mark;
        QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80") << mark + mark + mark;
    }
    void whatATerminalWouldObeyIsReplaced() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, shown);
        QCOMPARE(QByteArray::fromStdString(oneLine(text.toStdString())), shown);
    }

    void aVeryLongWordLosesItsMiddle() {
        const std::string line = oneLine("node " + std::string(20000, 'a') + "z here");
        QCOMPARE(line, "node " + std::string(250, 'a') + "..." + std::string(99, 'a') + "z here");
    }

    void aLongWordIsNotCutInsideACharacter() {
        std::string word;
        for (int i = 0; i < 1000; ++i)
            word += "日";
        const QByteArray line = QByteArray::fromStdString(oneLine(word));
        QVERIFY(line.size() < 400);
        QCOMPARE(QString::fromUtf8(line).count(QChar(0x65E5)), (line.size() - 3) / 3);
    }
};

QTEST_GUILESS_MAIN(TstPlainText)
#include "tst_plain_text.moc"
