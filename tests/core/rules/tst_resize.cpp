// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

onnx::TensorProto reals(const std::string& name, const std::vector<float>& values) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(T::FLOAT);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const float value : values)
        tensor.add_float_data(value);
    return tensor;
}

ModelBuilder scaled(std::int64_t size, float scale, const std::vector<Attribute>& attributes = {}) {
    return ModelBuilder()
        .input("x", {2, size})
        .initializer(reals("s", {1, scale}))
        .op("Resize", {"x", "", "s"}, {"y"}, "", attributes);
}

ModelBuilder sized(std::int64_t size, std::int64_t to,
                   const std::vector<Attribute>& attributes = {}) {
    return ModelBuilder()
        .input("x", {2, size})
        .ints("s", {2, to})
        .op("Resize", {"x", "", "", "s"}, {"y"}, "", attributes);
}

}  // namespace

class TstResize : public QObject {
    Q_OBJECT

private slots:
    void blocksThatReadNothingElseAreParallel_data() {
        QTest::addColumn<double>("scale");
        QTest::addColumn<QString>("mode");
        QTest::addColumn<QString>("coordinates");
        QTest::addColumn<QString>("rounding");
        QTest::addColumn<QString>("expected");
        const QString up = "d0 d1, _, scales^ -> d0 (d1 rep1^)";
        const QString down = "d0 (d1 rep1^), _, scales^ -> d0 d1";
        const QString no = "d0 d1~, _, scales^ -> d0 o1^";
        const QString floor = "round_prefer_floor";
        QTest::newRow("nearest 2") << 2.0 << "nearest"
                                   << "half_pixel" << floor << up;
        QTest::newRow("nearest 3") << 3.0 << "nearest"
                                   << "half_pixel" << floor << up;
        QTest::newRow("nearest 2, up") << 2.0 << "nearest"
                                       << "half_pixel"
                                       << "ceil" << no;
        QTest::newRow("nearest 2, asymmetric") << 2.0 << "nearest"
                                               << "asymmetric"
                                               << "floor" << up;
        QTest::newRow("nearest 2, asymmetric, rounded") << 2.0 << "nearest"
                                                        << "asymmetric"
                                                        << "round_prefer_ceil" << no;
        QTest::newRow("nearest 2, corners") << 2.0 << "nearest"
                                            << "align_corners" << floor << no;
        QTest::newRow("nearest 1.5") << 1.5 << "nearest"
                                     << "half_pixel" << floor << no;
        QTest::newRow("linear 2") << 2.0 << "linear"
                                  << "half_pixel" << floor << no;
        QTest::newRow("nearest half") << 0.5 << "nearest"
                                      << "half_pixel" << floor << down;
        QTest::newRow("linear half") << 0.5 << "linear"
                                     << "half_pixel" << floor << down;
        QTest::newRow("cubic half") << 0.5 << "cubic"
                                    << "half_pixel" << floor << no;
        QTest::newRow("one") << 1.0 << "linear"
                             << "align_corners" << floor << "d0 d1, _, scales^ -> d0 d1";
    }
    void blocksThatReadNothingElseAreParallel() {
        QFETCH(double, scale);
        QFETCH(QString, mode);
        QFETCH(QString, coordinates);
        QFETCH(QString, rounding);
        QTEST(ruleText(scaled(8, static_cast<float>(scale),
                              {{"mode", mode.toStdString()},
                               {"coordinate_transformation_mode", coordinates.toStdString()},
                               {"nearest_mode", rounding.toStdString()}})),
              "expected");
    }
    void nodesOfOtherScalesHaveOtherRules() {
        // 8 * 1.01 is 8, too.
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {8})
                                       .initializer(reals("s", {1.0F}))
                                       .initializer(reals("t", {1.01F}))
                                       .op("Resize", {"x", "", "s"}, {"a"})
                                       .op("Resize", {"a", "", "t"}, {"b"});
        COMPARE_RULE(model, "d0~, _, 1 -> o0^");
    }
    void sizesBecomeLocalOnes() {
        const ModelBuilder model = sized(4, 8);
        COMPARE_RULE(model, "d0 d1, _, _, sizes^ -> d0 (d1 rep1^)");
        COMPARE_REWRITES(model, "LocalShapeInput slot 3");
        const Rule axes =
            lastRule(ModelBuilder()
                         .input("x", {2, 4})
                         .ints("s", {8})
                         .op("Resize", {"x", "", "", "s"}, {"y"}, "", {{"axes", {-1}}}));
        QCOMPARE(axes.rewrites.size(), std::size_t{1});
        QCOMPARE(axes.rewrites.front().dims, std::vector<int>{1});
    }
    void keptRatiosAreWhole() {
        COMPARE_RULE(sized(4, 8, {{"keep_aspect_ratio_policy", "not_larger"}}),
                     "d0^ d1^, _, _, sizes^ -> o0^ o1^");
    }
    void regionsAreWhole() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 4})
                         .initializer(reals("r", {0, 0, 1, 1}))
                         .ints("s", {2, 8})
                         .op("Resize", {"x", "r", "", "s"}, {"y"}, "",
                             {{"coordinate_transformation_mode", "tf_crop_and_resize"}}),
                     "d0^ d1^, roi^, _, sizes^ -> o0^ o1^");
    }
    void scalesThatAreNotConstantAreWhole() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 4})
                         .input("s", {2})
                         .op("Resize", {"x", "", "s"}, {"y"})
                         .output("y", {2, 8}),
                     "d0^ d1^, _, scales^ -> o0^ o1^");
    }
    void scalesWereAttributes() {
        COMPARE_RULE(
            ModelBuilder(7)
                .input("x", {2, 3, 4, 4})
                .op("Upsample", {"x"}, {"y"}, "", {Attribute::floats("scales", {1, 1, 2, 1})}),
            "d0 d1 d2 d3 -> d0 d1 (d2 rep2^) d3");
    }
    void centresAreSlices() {
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {4, 9})
                                       .ints("s", {4, 4})
                                       .op("CenterCropPad", {"x", "s"}, {"y"});
        COMPARE_RULE(model, "d0 d1~, shape^ -> d0 d1~");
        QCOMPARE(lastRule(model).slices.front().start, std::int64_t{2});
    }
    void paddedCentresAreWhole() {
        const ModelBuilder model =
            ModelBuilder()
                .input("x", {4, 8, 3})
                .ints("s", {6, 2})
                .op("CenterCropPad", {"x", "s"}, {"y"}, "", {{"axes", {0, 1}}});
        COMPARE_RULE(model, "d0^ d1^ d2, shape^ -> o0^ o1^ d2");
        QCOMPARE(lastRule(model).rewrites.front().dims, (std::vector<int>{0, 1}));
    }
    void gridsAreOneAnImage() {
        const ModelBuilder model = ModelBuilder(20)
                                       .input("t", {4, 2, 3})
                                       .ints("s", {4, 3, 6, 8})
                                       .op("AffineGrid", {"t", "s"}, {"y"});
        COMPARE_RULE(model, "n m0^ m1^, size^ -> n y0^ y1^ y2^");
        QCOMPARE(lastRule(model).rewrites.front().dims, (std::vector<int>{0, -1, 1, 2}));
    }
};

QTEST_GUILESS_MAIN(TstResize)
#include "tst_resize.moc"
