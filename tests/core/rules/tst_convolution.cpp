// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

#include <limits>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

ModelBuilder conv(const Shape& x, const Shape& w, const std::vector<Attribute>& attributes,
                  const char* op = "Conv") {
    return ModelBuilder().input("x", x).input("w", w).op(op, {"x", "w"}, {"y"}, "", attributes);
}

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

}  // namespace

class TstConvolution : public QObject {
    Q_OBJECT

private slots:
    void channelsAreSummed() {
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {2, 4, 8})
                                       .weight("w", {6, 4, 3})
                                       .weight("b", {6})
                                       .op("Conv", {"x", "w", "b"}, {"y"});
        COMPARE_RULE(model, "n c+ l~, o c+ kl^, o -> n o l~");
        COMPARE_REWRITES(model, "LocalPads dim 2 pads");
        const Rule rule = lastRule(model);
        QVERIFY(rule.inputs[2].addedOnce);
        QVERIFY(!rule.strict);
        QCOMPARE(rule.strictReason, std::string("proposal 0007 lists Conv as unsupported"));
        QCOMPARE(factorNamed(rule, "l")->reason,
                 std::string("windows of 3, 1 apart, read neighbours"));
        QCOMPARE(rule.flopsPerPoint * 2 * 4 * 8 * 6 * 3, 2.0 * 2 * 6 * 6 * 4 * 3);
    }
    void groupsAreParallel() {
        const ModelBuilder model = conv({2, 8, 8}, {6, 4, 3}, {{"group", 2}});
        COMPARE_RULE(model, "n (g c+) l~, (g o) c+ kl^ -> n (g o) l~");
        COMPARE_REWRITES(model, "LocalPads dim 2 pads; LocalAttribute group *g");
    }
    void depthwiseConvolutionsAreParallelOverChannels() {
        const ModelBuilder model = conv({2, 4, 8}, {4, 1, 3}, {{"group", 4}});
        COMPARE_RULE(model, "n g l~, g 1 kl^ -> n g l~");
        COMPARE_REWRITES(model, "LocalPads dim 2 pads; LocalAttribute group *g");
    }
    void whatReadsNoNeighbourIsParallel_data() {
        QTest::addColumn<QString>("padding");
        QTest::addColumn<qint64>("kernel");
        QTest::addColumn<qint64>("stride");
        QTest::addColumn<QString>("expected");
        QTest::newRow("pointwise") << "" << qint64{1} << qint64{1} << "n c+ l, o c+ 1 -> n o l";
        QTest::newRow("pointwise, padded")
            << "1" << qint64{1} << qint64{1} << "n c+ l~, o c+ 1 -> n o ol^";
        QTest::newRow("side by side")
            << "" << qint64{4} << qint64{4} << "n c+ (l kl^), o c+ kl^ -> n o l";
        QTest::newRow("side by side, same")
            << "SAME_UPPER" << qint64{4} << qint64{4} << "n c+ (l kl^), o c+ kl^ -> n o l";
        QTest::newRow("a rest") << "" << qint64{3} << qint64{3} << "n c+ l~, o c+ kl^ -> n o l~";
        QTest::newRow("a rest, same")
            << "SAME_LOWER" << qint64{3} << qint64{3} << "n c+ l~, o c+ kl^ -> n o l~";
        QTest::newRow("apart") << "" << qint64{1} << qint64{2} << "n c+ l~, o c+ 1 -> n o l~";
        QTest::newRow("overlap") << "" << qint64{4} << qint64{2} << "n c+ l~, o c+ kl^ -> n o l~";
    }
    void whatReadsNoNeighbourIsParallel() {
        QFETCH(QString, padding);
        QFETCH(qint64, kernel);
        QFETCH(qint64, stride);
        std::vector<Attribute> attributes{{"strides", {std::int64_t{stride}}}};
        if (padding == "1")
            attributes.push_back({"pads", {1, 1}});
        else if (!padding.isEmpty())
            attributes.push_back({"auto_pad", padding.toStdString()});
        QTEST(ruleText(conv({2, 4, 8}, {6, 4, kernel}, attributes)), "expected");
    }
    void windowsReadAroundAnElementOfTheirOwn_data() {
        QTest::addColumn<qint64>("size");
        QTest::addColumn<qint64>("kernel");
        QTest::addColumn<qint64>("stride");
        QTest::addColumn<qint64>("dilation");
        QTest::addColumn<QString>("pads");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, int size, int kernel, int stride, int dilation,
                            const char* pads, const char* expected) {
            QTest::newRow(name) << qint64{size} << qint64{kernel} << qint64{stride}
                                << qint64{dilation} << pads << expected;
        };
        // First own element, step; elements before and behind; number of windows.
        row("padded", 8, 3, 1, 1, "1 1", "0 1, 1 1, 8");
        row("not padded", 8, 3, 1, 1, "0 0", "1 1, 1 1, 6");
        row("apart", 8, 3, 2, 1, "1 1", "0 2, 1 1, 4");
        row("even", 8, 4, 1, 1, "1 2", "0 1, 1 2, 8");
        row("dilated", 12, 3, 1, 2, "2 2", "0 1, 2 2, 12");
        row("at one end", 8, 3, 1, 1, "2 0", "0 1, 2 0, 8");
        row("at the other", 8, 3, 1, 1, "0 2", "0 1, 0 2, 8");
        row("more windows than elements", 8, 3, 1, 1, "2 2", "none");
    }
    void windowsReadAroundAnElementOfTheirOwn() {
        QFETCH(qint64, size);
        QFETCH(qint64, kernel);
        QFETCH(qint64, stride);
        QFETCH(qint64, dilation);
        QFETCH(QString, pads);
        const Rule rule = lastRule(
            conv({2, 4, size}, {6, 4, kernel},
                 {{"strides", {std::int64_t{stride}}},
                  {"dilations", {std::int64_t{dilation}}},
                  {"pads", {pads.split(' ')[0].toLongLong(), pads.split(' ')[1].toLongLong()}}}));
        QVERIFY(rule.known);
        QString extra = "none";
        if (!rule.slices.empty()) {
            const SliceExtra& s = rule.slices.front();
            QVERIFY(s.window);
            extra = QStringLiteral("%1 %2, %3 %4, %5")
                        .arg(s.start)
                        .arg(s.step)
                        .arg(s.before)
                        .arg(s.after)
                        .arg(s.count);
        }
        QTEST(extra, "expected");
    }
    void dilatedWindowsSideBySideAreNot() {
        COMPARE_RULE(conv({2, 4, 9}, {6, 4, 3}, {{"strides", {3}}, {"dilations", {2}}}),
                     "n c+ l~, o c+ kl^ -> n o l~");
    }
    void transposedWeightsHaveTheirInputsFirst() {
        COMPARE_RULE(conv({2, 4, 8}, {4, 3, 3}, {{"group", 2}}, "ConvTranspose"),
                     "n (g c+) l~, (g c+) o kl^ -> n (g o) ol^");
    }
    void transposedWindowsSideBySideAreParallel() {
        COMPARE_RULE(conv({2, 4, 8}, {4, 3, 2}, {{"strides", {2}}}, "ConvTranspose"),
                     "n c+ l, c+ o kl^ -> n o (l kl^)");
        COMPARE_RULE(conv({2, 4, 8}, {4, 3, 2}, {{"strides", {2}}, {"output_padding", {1}}},
                          "ConvTranspose"),
                     "n c+ l~, c+ o kl^ -> n o ol^");
        COMPARE_RULE(
            conv({2, 4, 8}, {4, 3, 2}, {{"strides", {2}}, {"output_shape", {16}}}, "ConvTranspose"),
            "n c+ l~, c+ o kl^ -> n o ol^");
    }
    void roundedSumsAreWhole() {
        const Rule rule =
            lastRule(ModelBuilder()
                         .input("x", {2, 4, 8}, T::UINT8)
                         .input("sx", {})
                         .input("zx", {}, T::UINT8)
                         .input("w", {6, 4, 1}, T::INT8)
                         .input("sw", {6})
                         .input("zw", {6}, T::INT8)
                         .input("sy", {})
                         .input("zy", {}, T::UINT8)
                         .op("QLinearConv", {"x", "sx", "zx", "w", "sw", "zw", "sy", "zy"}, {"y"}));
        QCOMPARE(QString::fromStdString(rule.text()),
                 QStringLiteral("n c^ l, ., ., o c^ 1, o, o, ., . -> n o l"));
        QCOMPARE(factorNamed(rule, "c")->reason,
                 std::string("the sum is rounded to the scale of the output"));
    }
    void integersAreSummed() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 4, 8}, T::UINT8)
                         .input("w", {6, 4, 1}, T::UINT8)
                         .input("zx", {}, T::UINT8)
                         .input("zw", {}, T::UINT8)
                         .op("ConvInteger", {"x", "w", "zx", "zw"}, {"y"}),
                     "n c+ l, o c+ 1, ., . -> n o l");
    }
    void offsetsAreSharedByGroups_data() {
        QTest::addColumn<qint64>("groups");
        QTest::addColumn<qint64>("sharing");
        QTest::addColumn<QString>("expected");
        QTest::addColumn<QString>("rewrites");
        QTest::newRow("neither") << qint64{1} << qint64{1}
                                 << "n c+ x0^ x1^, o c+ k0^ k1^, n k^ y0^ y1^ -> n o y0^ y1^"
                                 << "";
        QTest::newRow("groups")
            << qint64{2} << qint64{1}
            << "n (g c+) x0^ x1^, (g o) c+ k0^ k1^, n k^ y0^ y1^ -> n (g o) y0^ y1^"
            << "LocalAttribute group *g";
        QTest::newRow("sharing")
            << qint64{1} << qint64{2}
            << "n (q+ c+) x0^ x1^, o (q+ c+) k0^ k1^, n (q+ k^) y0^ y1^ -> n o y0^ y1^"
            << "LocalAttribute offset_group *q";
        QTest::newRow("the same")
            << qint64{2} << qint64{2}
            << "n (g c+) x0^ x1^, (g o) c+ k0^ k1^, n (g k^) y0^ y1^ -> n (g o) y0^ y1^"
            << "LocalAttribute group *g; LocalAttribute offset_group *g";
        QTest::newRow("both")
            << qint64{2} << qint64{4}
            << "n c^ x0^ x1^, (g^ o) wc^ k0^ k1^, n (q^ k^) y0^ y1^ -> n (g^ o) y0^ y1^"
            << "";
    }
    void offsetsAreSharedByGroups() {
        QFETCH(qint64, groups);
        QFETCH(qint64, sharing);
        const ModelBuilder model =
            ModelBuilder()
                .input("x", {2, 8, 6, 6})
                .input("w", {6, 8 / groups, 3, 3})
                .input("o", {2, sharing * 18, 4, 4})
                .op("DeformConv", {"x", "w", "o"}, {"y"}, "",
                    {{"group", std::int64_t{groups}}, {"offset_group", std::int64_t{sharing}}});
        QTEST(ruleText(model), "expected");
        QTEST(rewritesText(lastRule(model)), "rewrites");
    }
    void hostileAttributesFallBack() {
        const std::vector<std::vector<Attribute>> attributes{
            {{"group", 3}},         {{"group", 0}},           {{"group", kFar}},
            {{"strides", {0}}},     {{"strides", {1, 1}}},    {{"dilations", {-1}}},
            {{"pads", {1}}},        {{"pads", {kFar, kFar}}}, {{"strides", {kFar}}},
            {{"kernel_shape", {5}}}};
        for (const auto& list : attributes)
            QVERIFY(!lastRule(conv({2, 4, 8}, {6, 4, 3}, list).output("y", {2, 6, 6})).known);
    }
};

QTEST_GUILESS_MAIN(TstConvolution)
#include "tst_convolution.moc"
