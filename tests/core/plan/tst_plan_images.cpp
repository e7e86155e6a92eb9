// SPDX-License-Identifier: Apache-2.0
#include "factor_case.h"

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

/// One operator on [4,8,6,6], named n.
ModelBuilder onImages(const char* op, const std::vector<Attribute>& attributes = {},
                      int opset = 21) {
    return ModelBuilder(opset)
        .input("x", {4, 8, 6, 6})
        .op(op, {"x"}, {"y"}, "n", attributes)
        .output("y");
}

ModelBuilder convolution(const char* op, const std::vector<std::int64_t>& weight,
                         const std::vector<Attribute>& attributes) {
    return ModelBuilder()
        .input("x", {4, 8, 6, 6})
        .weight("w", weight)
        .weight("b", {6})
        .op(op, {"x", "w", "b"}, {"y"}, "n", attributes)
        .output("y");
}

}  // namespace

/// Operators on images on ONNX Runtime's kernels, each factor split over 2 and 3 devices.
class TstPlanImages : public QObject {
    Q_OBJECT

private slots:
    void convolutions() {
        VERIFY_FACTORS(convolution("Conv", {6, 8, 3, 3}, {}), "n", "n c o");
        VERIFY_FACTORS(convolution("Conv", {6, 4, 3, 3}, {{"group", 2}}), "n", "n g c o");
        VERIFY_FACTORS(convolution("Conv", {6, 8, 1, 2}, {{"strides", {1, 2}}}), "n", "h w n c o");
        VERIFY_FACTORS(ModelBuilder()
                           .input("x", {4, 6, 8})
                           .weight("w", {6, 1, 3})
                           .op("Conv", {"x", "w"}, {"y"}, "n", {{"group", 6}, {"pads", {1, 1}}})
                           .output("y"),
                       "n", "n g");
    }
    void transposedConvolutions() {
        VERIFY_FACTORS(convolution("ConvTranspose", {8, 6, 3, 3}, {}), "n", "n c o");
        VERIFY_FACTORS(
            convolution("ConvTranspose", {8, 3, 2, 2}, {{"group", 2}, {"strides", {2, 2}}}), "n",
            "h w n g c o");
    }
    void quantisedConvolutions() {
        VERIFY_FACTORS(ModelBuilder()
                           .input("x", {4, 8, 6, 6}, T::UINT8)
                           .input("zx", {}, T::UINT8)
                           .weight("w", {6, 4, 3, 3}, T::UINT8)
                           .op("ConvInteger", {"x", "w", "zx"}, {"y"}, "n", {{"group", 2}})
                           .output("y"),
                       "n", "n g c o");
        VERIFY_FACTORS(ModelBuilder()
                           .input("x", {4, 8, 6, 6}, T::UINT8)
                           .real("sx", 0.5F)
                           .input("zx", {}, T::UINT8)
                           .weight("w", {6, 4, 1, 1}, T::INT8)
                           .weight("sw", {6})
                           .initializer(intTensor("zw", {6}, {0, 0, 0, 0, 0, 0}))
                           .op("Cast", {"zw"}, {"zw8"}, "", {{"to", static_cast<int>(T::INT8)}})
                           .op("Abs", {"sw"}, {"swa"})
                           .real("sy", 4.0F)
                           .input("zy", {}, T::UINT8)
                           .op("QLinearConv", {"x", "sx", "zx", "w", "swa", "zw8", "sy", "zy"},
                               {"y"}, "n", {{"group", 2}})
                           .output("y"),
                       "n", "h w n g o");
    }
    void deformableConvolutions() {
        const auto model = [](int groups, int sharing) {
            return ModelBuilder(19)
                .input("x", {4, 8, 6, 6})
                .weight("w", {6, 8 / groups, 3, 3})
                .input("o", {4, sharing * 18, 4, 4})
                .weight("b", {6})
                .input("m", {4, sharing * 9, 4, 4})
                .op("DeformConv", {"x", "w", "o", "b", "m"}, {"y"}, "n",
                    {{"group", groups}, {"offset_group", sharing}})
                .output("y");
        };
        VERIFY_FACTORS(model(1, 1), "n", "c n o");
        VERIFY_FACTORS(model(2, 1), "n", "g c n o");
        VERIFY_FACTORS(model(1, 2), "n", "c q n o");
        VERIFY_FACTORS(model(2, 2), "n", "g c n o");
        VERIFY_FACTORS(model(2, 4), "n", "n o");
    }
    void pools() {
        for (const char* op : {"AveragePool", "LpPool", "MaxPool"})
            VERIFY_FACTORS(onImages(op, {{"kernel_shape", {2, 3}}, {"strides", {2, 1}}}), "n",
                           "h n c");
        VERIFY_FACTORS(ModelBuilder()
                           .input("x", {4, 8, 6})
                           .op("MaxPool", {"x"}, {"y", "i"}, "n", {{"kernel_shape", {2}}})
                           .output("y")
                           .output("i", {4, 8, 5}, T::INT64),
                       "n", "");
    }
    void globalPools() {
        for (const int opset : {12, 21}) {
            VERIFY_FACTORS(onImages("GlobalAveragePool", {}, opset), "n", "h w n c");
            VERIFY_FACTORS(onImages("GlobalMaxPool", {}, opset), "n", "h w n c");
            VERIFY_FACTORS(onImages("GlobalLpPool", {{"p", 1}}, opset), "n", "h w n c");
            VERIFY_FACTORS(onImages("GlobalLpPool", {}, opset), "n", "h w n c");
            VERIFY_FACTORS(onImages("GlobalLpPool", {{"p", 3}}, opset), "n", "n c");
        }
    }
    void regions() {
        VERIFY_FACTORS(
            ModelBuilder(16)
                .input("x", {3, 8, 6, 6})
                .initializer(reals("r", {0, 0, 5, 5, 1, 2, 4, 5, 2, 0, 5, 3, 0, 1, 3, 4}))
                .ints("s", {4, 4})
                .op("Reshape", {"r", "s"}, {"rois"})
                .ints("i", {0, 2, 1, 2})
                .op("RoiAlign", {"x", "rois", "i"}, {"y"}, "n",
                    {{"output_height", 2}, {"output_width", 2}})
                .output("y"),
            "n", "n c r");
    }
    void resizing() {
        const auto model = [](const std::vector<float>& scales,
                              const std::vector<Attribute>& list) {
            return ModelBuilder()
                .input("x", {4, 2, 6, 8})
                .initializer(reals("s", scales))
                .op("Resize", {"x", "", "s"}, {"y"}, "n", list)
                .output("y");
        };
        VERIFY_FACTORS(model({1, 1, 2, 3}, {}), "n", "d0 d1 d2 d3");
        VERIFY_FACTORS(model({1, 1, 2, 1.5F}, {{"mode", "linear"}}), "n", "d0 d1");
        VERIFY_FACTORS(model({1, 1, 0.5F, 0.25F}, {{"mode", "linear"}}), "n", "d0 d1 d2 d3");
        VERIFY_FACTORS(model({1, 1, 0.5F, 2}, {{"nearest_mode", "floor"}}), "n", "d0 d1 d2");
        VERIFY_FACTORS(model({1, 1, 2, 0.5F}, {{"coordinate_transformation_mode", "asymmetric"},
                                               {"nearest_mode", "floor"}}),
                       "n", "d0 d1 d2 d3");
        VERIFY_FACTORS(ModelBuilder()
                           .input("x", {4, 2, 6, 8})
                           .ints("s", {12, 8})
                           .op("Resize", {"x", "", "", "s"}, {"y"}, "n", {{"axes", {2, 3}}})
                           .output("y"),
                       "n", "d0 d1 d2 d3");
    }
    void grids() {
        VERIFY_FACTORS(ModelBuilder(20)
                           .input("x", {4, 2, 6, 6})
                           .input("g", {4, 3, 5, 2})
                           .op("GridSample", {"x", "g"}, {"y"}, "n")
                           .output("y"),
                       "n", "n c y0 y1");
        VERIFY_FACTORS(ModelBuilder(20)
                           .input("t", {4, 2, 3})
                           .ints("s", {4, 3, 6, 8})
                           .op("AffineGrid", {"t", "s"}, {"y"}, "n")
                           .output("y"),
                       "n", "n");
    }
    void columns() {
        VERIFY_FACTORS(ModelBuilder()
                           .input("x", {4, 24, 9})
                           .ints("i", {4, 4})
                           .ints("b", {2, 2})
                           .op("Col2Im", {"x", "i", "b"}, {"y"}, "n")
                           .output("y"),
                       "n", "n c");
        VERIFY_FACTORS(ModelBuilder()
                           .input("x", {4, 8, 3})
                           .ints("s", {6, 2})
                           .op("CenterCropPad", {"x", "s"}, {"y"}, "n", {{"axes", {0, 1}}})
                           .output("y"),
                       "n", "d2");
    }
    void groupNormalization() {
        VERIFY_FACTORS(ModelBuilder()
                           .input("x", {4, 6, 5})
                           .weight("s", {6})
                           .weight("b", {6})
                           .op("GroupNormalization", {"x", "s", "b"}, {"y"}, "n",
                               {{"num_groups", 3}, {"epsilon", 0.1}})
                           .output("y", {4, 6, 5}),
                       "n", "n g");
    }
};

QTEST_GUILESS_MAIN(TstPlanImages)
#include "tst_plan_images.moc"
