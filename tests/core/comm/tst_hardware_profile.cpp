// SPDX-License-Identifier: Apache-2.0
#include "comm/hardware_profile.h"

#include <QtTest>

using namespace shardwright;

namespace {

const char* const kNode = R"({
  "format": "shardwright-hardware",
  "version": 1,
  "name": "node",
  "device": {
    "flops_per_second": {"float": 1e12, "bfloat16": 2e12},
    "memory_bytes_per_second": 3e11,
    "memory_bytes": 16000000000
  },
  "links": [
    {"name": "board", "devices": 4, "latency_us": 2, "bytes_per_second": 1e11},
    {"name": "socket", "axes": ["tp"], "latency_us": 1, "bytes_per_second": 2e11},
    {"name": "net", "latency_us": 10, "bytes_per_second": 1e10}
  ]
})";

HardwareProfile node() {
    return HardwareProfile::parse(kNode, "node.json").value();
}

QString problemOf(QString text) {
    const auto parsed = HardwareProfile::parse(text.toStdString(), "p.json");
    return parsed ? QString("none") : QString::fromStdString(parsed.error().text());
}

}  // namespace

class TstHardwareProfile : public QObject {
    Q_OBJECT
private slots:
    void aProfileIsRead();
    void whatIsWrittenIsReadAgain();
    void aFieldThatIsWrongIsNamedWithItsLine_data();
    void aFieldThatIsWrongIsNamedWithItsLine();
    void hostileTextIsRefused_data();
    void hostileTextIsRefused();
    void aGroupGoesOverTheSlowestLinkThatItSpans_data();
    void aGroupGoesOverTheSlowestLinkThatItSpans();
    void theInstalledProfilesSayWhereEachNumberIsFrom();
};

void TstHardwareProfile::aProfileIsRead() {
    const HardwareProfile profile = node();
    QCOMPARE(profile.name, std::string("node"));
    QCOMPARE(profile.device.flops.at(1), 1e12);
    QCOMPARE(profile.device.flops.at(16), 2e12);
    QCOMPARE(profile.device.memoryBytes, std::int64_t(16000000000));
    QCOMPARE(profile.links.size(), std::size_t(3));
    QCOMPARE(profile.links[0].latency, 2e-6);
    QCOMPARE(profile.links[1].axes, (std::vector<std::string>{"tp"}));
    QCOMPARE(profile.links[2].devices, 0);
}

void TstHardwareProfile::whatIsWrittenIsReadAgain() {
    const auto again = HardwareProfile::parse(node().text(), "again");
    QVERIFY2(bool(again), again ? "" : again.error().text().c_str());
    QVERIFY(*again == node());
}

void TstHardwareProfile::aFieldThatIsWrongIsNamedWithItsLine_data() {
    QTest::addColumn<QString>("from");
    QTest::addColumn<QString>("to");
    QTest::addColumn<QString>("message");
    const auto row = [](const char* name, const char* from, const char* to, const char* message) {
        QTest::newRow(name) << from << to << message;
    };
    row("bandwidth below 0", R"("bytes_per_second": 1e11)", R"("bytes_per_second": -1)",
        "p.json:11: `links.0.bytes_per_second` must be a number above 0, found -1");
    row("no latency", R"("latency_us": 10, )", "", "p.json:13: `links.2.latency_us` is missing");
    row("a text", R"("latency_us": 1,)", R"("latency_us": "1",)",
        "p.json:12: `links.1.latency_us` must be a number above 0");
    row("unknown field", R"("memory_bytes":)", R"("memory":)",
        "p.json:8: `device.memory` is not a field of a hardware profile");
    row("unknown type", R"("bfloat16")", R"("bf16")",
        "p.json:6: `device.flops_per_second.bf16` is not an element type (float, float16, "
        "bfloat16, int8, ...)");
    row("format", "shardwright-hardware", "other",
        "p.json:2: `format` must be \"shardwright-hardware\"");
    row("version", R"("version": 1)", R"("version": 2)", "p.json:3: `version` must be 1");
    row("parts of bytes", "16000000000", "0.5",
        "p.json:8: `device.memory_bytes` must be a whole number up to 1000000000000000000");
    row("axes and devices", R"("axes": ["tp"])", R"("axes": ["tp"], "devices": 2)",
        "p.json:12: `links.1.axes` and `devices` exclude each other");
    row("not the last", R"("devices": 4, )", "",
        "p.json:13: `links.2.devices` must be larger than in the link before it; a link without it "
        "connects all devices and is the last one");
    row("none connects all", R"("name": "net",)", R"("name": "net", "devices": 8,)",
        "p.json:10: `links` must end with a link that has neither `axes` nor `devices`: the one "
        "that connects all devices");
    row("a comma", R"("version": 1,)", R"("version": 1)", "p.json:4: this is not JSON");
}

void TstHardwareProfile::aFieldThatIsWrongIsNamedWithItsLine() {
    QFETCH(QString, from);
    QFETCH(QString, to);
    QFETCH(QString, message);
    const QString text = kNode;
    QVERIFY(text.contains(from));
    QCOMPARE(problemOf(QString(text).replace(text.indexOf(from), from.size(), to)), message);
}

void TstHardwareProfile::hostileTextIsRefused_data() {
    QTest::addColumn<QString>("text");
    QTest::newRow("nothing") << "";
    QTest::newRow("a number") << "1";
    QTest::newRow("deep lists") << QString(500000, '[');
    QTest::newRow("deep objects") << QString(R"({"a":)").repeated(100000);
    QTest::newRow("links are a number")
        << R"({"format": "shardwright-hardware", "version": 1, "links": 3})";
    QTest::newRow("a huge number") << QString(kNode).replace("1e11", "1e400");
    QTest::newRow("a block of too many")
        << QString(kNode).replace(R"("devices": 4)", R"("devices": 99999999999)");
}

void TstHardwareProfile::hostileTextIsRefused() {
    QFETCH(QString, text);
    QVERIFY(problemOf(text) != "none");
    QVERIFY(problemOf(text).size() < 300);
}

void TstHardwareProfile::aGroupGoesOverTheSlowestLinkThatItSpans_data() {
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QList<int>>("devices");
    QTest::addColumn<double>("latencyUs");
    QTest::addColumn<double>("bandwidth");
    QTest::addColumn<QString>("name");
    QTest::newRow("inside of a board") << "x=8" << QList<int>{0, 3} << 2.0 << 1e11 << "board";
    QTest::newRow("between boards") << "x=8" << QList<int>{0, 4} << 10.0 << 1e10 << "net";
    QTest::newRow("next to each other, but on two boards")
        << "x=8" << QList<int>{3, 4} << 10.0 << 1e10 << "net";
    QTest::newRow("both") << "x=8" << QList<int>{0, 1, 4, 5} << 10.0 << 1e10 << "net";
    QTest::newRow("an axis of its own")
        << "dp=4,tp=2" << QList<int>{0, 1} << 1.0 << 2e11 << "socket";
    QTest::newRow("another axis on one board")
        << "dp=4,tp=2" << QList<int>{0, 2} << 2.0 << 1e11 << "board";
    QTest::newRow("two axes merged, on one board")
        << "dp=4,tp=2" << QList<int>{0, 1, 2, 3} << 2.0 << 1e11 << "board";
    QTest::newRow("an axis of its own that crosses boards")
        << "tp=2,dp=4" << QList<int>{0, 4} << 1.0 << 2e11 << "socket";
    QTest::newRow("one device") << "x=8" << QList<int>{2} << 0.0 << 0.0 << "";
}

void TstHardwareProfile::aGroupGoesOverTheSlowestLinkThatItSpans() {
    QFETCH(QString, mesh);
    QFETCH(QList<int>, devices);
    QFETCH(double, latencyUs);
    QFETCH(double, bandwidth);
    QFETCH(QString, name);
    const SpannedLink link = spannedLink(node(), Mesh::parse(mesh.toStdString()).value(),
                                         DeviceGroup(devices.begin(), devices.end()));
    QCOMPARE(link.latency * 1e6, latencyUs);
    QCOMPARE(link.bandwidth, bandwidth);
    QCOMPARE(QString::fromStdString(link.name), name);
}

void TstHardwareProfile::theInstalledProfilesSayWhereEachNumberIsFrom() {
    const QDir folder(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/resources/hardware-profiles");
    const QStringList files = folder.entryList({"*.json"});
    QVERIFY(files.size() >= 2);
    for (const QString& file : files) {
        const auto profile = HardwareProfile::load(folder.filePath(file).toStdString());
        QVERIFY2(bool(profile), profile ? "" : profile.error().text().c_str());
        QVERIFY2(!profile->device.source.empty(), qPrintable(file));
        for (const HardwareLink& link : profile->links)
            QVERIFY2(!link.source.empty() && !link.name.empty(), qPrintable(file));
    }
}

QTEST_APPLESS_MAIN(TstHardwareProfile)
#include "tst_hardware_profile.moc"
