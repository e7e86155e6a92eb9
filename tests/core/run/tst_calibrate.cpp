// SPDX-License-Identifier: Apache-2.0
#include "comm/cost.h"
#include "run/calibrate.h"
#include "run/ort_engine.h"
#include "run/thread_communicator.h"

#include <QElapsedTimer>
#include <QtTest>

using namespace shardwright;

namespace {

/// Times that a link of this latency and bandwidth would have.
std::vector<CollectiveSample> ideal(int devices, double latency, double bandwidth) {
    std::vector<CollectiveSample> samples;
    for (const CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::AllToAll})
        for (const double bytes : {4e3, 6e4, 1e6, 8e6}) {
            double best = 1e9;
            for (const CostFormula& formula : formulasOf(kind, devices, bytes))
                best = std::min(best, formula.seconds(latency, bandwidth));
            samples.push_back({kind, devices, bytes, best});
        }
    return samples;
}

bool near(double found, double expected, double relative) {
    return std::abs(found - expected) <= relative * expected;
}

}  // namespace

class TstCalibrate : public QObject {
    Q_OBJECT
private slots:
    void fitsThatSayNothingAreFound();
    void aStraightLineIsFound();
    void neitherNumberIsBelowZero();
    void theResidualIsThatOfTheMeasurements();
    void aLinkIsFoundFromItsTimes_data();
    void aLinkIsFoundFromItsTimes();
    void thisMachineGetsAProfileInTime();
};

/// As of a machine that had other work to do.
void TstCalibrate::fitsThatSayNothingAreFound() {
    QCOMPARE(uselessness(fitLinear({{"a", 1, 10, 25}, {"b", 1, 100, 205}, {"c", 1, 1000, 2005}})),
             std::string());
    const LinearFit falling = fitLinear({{"a", 1, 10, 30}, {"b", 1, 20, 20}, {"c", 1, 30, 10}});
    QCOMPARE(uselessness(falling), std::string("times do not grow with sizes"));
    const LinearFit wild = fitLinear(
        {{"a", 1, 10, 1}, {"b", 1, 20, 900}, {"c", 1, 30, 2}, {"d", 1, 40, 3}, {"e", 1, 50, 2000}});
    QVERIFY2(uselessness(wild).find("far from a straight line (residual ") != std::string::npos,
             uselessness(wild).c_str());
    // Two numbers from two times always fit.
    QVERIFY(!fitLinear({{"a", 1, 10, 25}, {"b", 1, 100, 205}}).hasResidual);
    QVERIFY(fitLinear({{"a", 1, 10, 25}, {"b", 1, 100, 205}, {"c", 1, 9, 20}}).hasResidual);
}

void TstCalibrate::aStraightLineIsFound() {
    const LinearFit fit = fitLinear({{"a", 1, 10, 25}, {"b", 1, 100, 205}, {"c", 1, 1000, 2005}});
    QVERIFY(near(fit.constant, 5, 1e-9) && near(fit.variable, 2, 1e-9));
    QVERIFY(fit.residual < 1e-9);
}

void TstCalibrate::neitherNumberIsBelowZero() {
    // A line through these has an intercept of -10.
    const LinearFit fit = fitLinear({{"a", 1, 10, 10}, {"b", 1, 20, 30}});
    QCOMPARE(fit.constant, 0.0);
    QVERIFY(fit.variable > 1 && fit.variable < 1.5);
    // Falling times.
    const LinearFit flat = fitLinear({{"a", 1, 10, 30}, {"b", 1, 20, 10}});
    QCOMPARE(flat.variable, 0.0);
    QVERIFY(flat.constant >= 10 && flat.constant <= 30);
    QCOMPARE(fitLinear({}).residual, 0.0);
}

void TstCalibrate::theResidualIsThatOfTheMeasurements() {
    // One of four is 20 % above the line of the others.
    const LinearFit fit =
        fitLinear({{"a", 1, 100, 100}, {"b", 1, 200, 200}, {"c", 1, 300, 360}, {"d", 1, 400, 400}});
    QVERIFY2(fit.residual > 0.05 && fit.residual < 0.12, qPrintable(QString::number(fit.residual)));
    QCOMPARE(fit.worst, std::size_t(2));
}

void TstCalibrate::aLinkIsFoundFromItsTimes_data() {
    QTest::addColumn<int>("devices");
    QTest::addColumn<double>("latency");
    QTest::addColumn<double>("bandwidth");
    QTest::newRow("two") << 2 << 3e-7 << 7e9;
    QTest::newRow("eight, tree and ring") << 8 << 2e-5 << 2e9;
    QTest::newRow("a network") << 4 << 1e-3 << 1e8;
}

void TstCalibrate::aLinkIsFoundFromItsTimes() {
    QFETCH(int, devices);
    QFETCH(double, latency);
    QFETCH(double, bandwidth);
    const LinkFit link = fitLink(ideal(devices, latency, bandwidth));
    QCOMPARE(link.devices, devices);
    QVERIFY2(near(link.latency, latency, 1e-6), qPrintable(QString::number(link.latency)));
    QVERIFY2(near(link.bandwidth, bandwidth, 1e-6), qPrintable(QString::number(link.bandwidth)));
    QVERIFY(link.fit.residual < 1e-6);
}

void TstCalibrate::thisMachineGetsAProfileInTime() {
    const auto path = OrtRuntime::find();
    if (!path)
        QSKIP("needs ONNX Runtime");
    const auto runtime = OrtRuntime::load(*path);
    QVERIFY(bool(runtime));
    CalibrationOptions options;
    options.quick = true;
    options.deviceCounts = {2, 3};
    options.makeEngine = [&] { return makeOrtEngine(*runtime, {}); };
    options.makeCommunicators = [](int devices) { return makeThreadCommunicators(devices); };
    QElapsedTimer timer;
    timer.start();
    const auto found = calibrate(options);
    QVERIFY2(bool(found), found ? "" : found.error().text().c_str());
    QVERIFY2(timer.elapsed() < 30'000, qPrintable(QString::number(timer.elapsed())));
    QCOMPARE(found->links.size(), std::size_t(2));
    // Five kinds, two sizes.
    QCOMPARE(found->links[0].samples.size(), std::size_t(10));
    for (const LinkFit& link : found->links)
        for (const FitSample& sample : link.samples)
            QVERIFY2(sample.seconds > 0 && sample.seconds < 1, sample.name.c_str());
    const HardwareProfile& profile = found->profile;
    if (!found->leftOut.empty()) {
        QVERIFY(profile.links.size() < 2 || profile.device.flops.size() < 2 ||
                profile.device.memoryBandwidth == 0);
        QSKIP("this machine is too busy to be measured");
    }
    QVERIFY(profile.device.flops.at(1) > 1e7);
    QVERIFY(profile.device.memoryBandwidth > 1e7);
    const auto again = HardwareProfile::parse(profile.text(), "calibrated");
    QVERIFY2(bool(again), again ? "" : again.error().text().c_str());
    // Text has fewer digits than memory.
    QVERIFY(near(again->links[1].bandwidth, profile.links[1].bandwidth, 1e-9));
    QCOMPARE(again->links[0].devices, 2);
    QCOMPARE(again->links[1].devices, 0);
}

QTEST_GUILESS_MAIN(TstCalibrate)
#include "tst_calibrate.moc"
