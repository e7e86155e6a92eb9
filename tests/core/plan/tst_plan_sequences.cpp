// SPDX-License-Identifier: Apache-2.0
#include "factor_case.h"

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

ModelBuilder recurrent(const char* op, std::int64_t gates, bool batchFirst, int opset = 21) {
    const Shape x = batchFirst ? Shape{6, 5, 2} : Shape{5, 6, 2};
    const Shape state = batchFirst ? Shape{6, 2, 4} : Shape{2, 6, 4};
    std::vector<std::string> inputs{"x", "w", "r", "b", "n", "h"}, outputs{"y", "hn"};
    ModelBuilder model(opset);
    model.input("x", x)
        .weight("w", {2, gates * 4, 2})
        .weight("r", {2, gates * 4, 4})
        .weight("b", {2, gates * 8})
        .initializer([] {
            onnx::TensorProto lengths;
            lengths.set_name("n");
            lengths.set_data_type(T::INT32);
            lengths.add_dims(6);
            for (const int length : {5, 3, 4, 1, 5, 2})
                lengths.add_int32_data(length);
            return lengths;
        }())
        .input("h", state);
    if (gates == 4) {
        model.input("c", state);
        inputs.push_back("c");
        outputs.push_back("cn");
    }
    model.op(op, inputs, outputs, "n",
             {{"hidden_size", 4}, {"direction", "bidirectional"}, {"layout", batchFirst ? 1 : 0}});
    for (const std::string& output : outputs)
        model.output(output);
    return model;
}

ModelBuilder loss(const char* op, const std::string& reduction, bool weights, bool ignore = false) {
    ModelBuilder model(21);
    model.input("x", {4, 6, 3})
        .initializer(intTensor("t", {4, 3}, {0, 5, 2, 3, 3, 1, 4, 0, 5, 2, 2, 1}))
        .weight("w", {6});
    std::vector<Attribute> attributes{{"reduction", reduction}};
    if (ignore)
        attributes.push_back({"ignore_index", 3});
    return model
        .op(op,
            weights ? std::vector<std::string>{"x", "t", "w"} : std::vector<std::string>{"x", "t"},
            {"y"}, "n", attributes)
        .output("y");
}

}  // namespace

/// Recurrent, signal and loss operators on ONNX Runtime's kernels, each factor split over 2 and 3
/// devices.
class TstPlanSequences : public QObject {
    Q_OBJECT

private slots:
    void recurrentOperators() {
        VERIFY_FACTORS(recurrent("RNN", 1, false), "n", "b");
        VERIFY_FACTORS(recurrent("GRU", 3, false), "n", "b");
        VERIFY_FACTORS(recurrent("LSTM", 4, false), "n", "b");
    }
    void linearAttention() {
        VERIFY_FACTORS(ModelBuilder(27)
                           .input("q", {4, 3, 32})
                           .input("k", {4, 3, 16})
                           .input("v", {4, 3, 8})
                           .input("s", {4, 2, 8, 4})
                           .op("LinearAttention", {"q", "k", "v", "s"}, {"y", "z"}, "n",
                               {{"q_num_heads", 4}, {"kv_num_heads", 2}, {"update_rule", "linear"}})
                           .output("y")
                           .output("z"),
                       "n", "b h g e");
    }
    void causalConvolution() {
        VERIFY_FACTORS(ModelBuilder(27)
                           .input("x", {4, 6, 8})
                           .weight("w", {6, 1, 3})
                           .weight("b", {6})
                           .input("p", {4, 6, 2})
                           .op("CausalConvWithState", {"x", "w", "b", "p"}, {"y", "z"}, "n")
                           .output("y")
                           .output("z"),
                       "n", "b c");
    }
    void transforms() {
        VERIFY_FACTORS(
            ModelBuilder(17).input("x", {4, 8, 6, 1}).op("DFT", {"x"}, {"y"}, "n").output("y"), "n",
            "d0 d2");
        VERIFY_FACTORS(ModelBuilder(17)
                           .input("x", {4, 32, 1})
                           .scalar("s", 4)
                           .weight("w", {8})
                           .op("STFT", {"x", "s", "w"}, {"y"}, "n", {{"onesided", 1}})
                           .output("y"),
                       "n", "b");
    }
    void losses() {
        for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
            VERIFY_FACTORS(loss(op, "none", true), "n", "n d1");
            VERIFY_FACTORS(loss(op, "sum", false), "n", "n d1");
            VERIFY_FACTORS(loss(op, "sum", true, true), "n", "n d1");
            VERIFY_FACTORS(loss(op, "mean", false), "n", "n d1");
            VERIFY_FACTORS(loss(op, "mean", true), "n", "");
            VERIFY_FACTORS(loss(op, "mean", false, true), "n", "");
        }
        VERIFY_FACTORS(ModelBuilder()
                           .input("x", {6, 5})
                           .initializer(intTensor("t", {6}, {0, 4, 2, 3, 3, 1}))
                           .op("SoftmaxCrossEntropyLoss", {"x", "t"}, {"y", "p"}, "n")
                           .output("y")
                           .output("p"),
                       "n", "n");
    }
    void caches() {
        VERIFY_FACTORS(ModelBuilder(24)
                           .input("c", {4, 2, 8, 6})
                           .input("u", {4, 2, 3, 6})
                           .initializer(intTensor("i", {4}, {0, 5, 2, 1}))
                           .op("TensorScatter", {"c", "u", "i"}, {"y"}, "n")
                           .output("y"),
                       "n", "b d1 d3");
    }
    void otherBatches() {
        VERIFY_FACTORS(ModelBuilder()
                           .input("x", {6, 4, 3})
                           .initializer(intTensor("l", {4}, {1, 5, 3, 6}))
                           .op("ReverseSequence", {"x", "l"}, {"y"}, "n")
                           .output("y"),
                       "n", "d1 d2");
        VERIFY_FACTORS(
            ModelBuilder().input("x", {4, 3, 3}).op("Det", {"x"}, {"y"}, "n").output("y"), "n",
            "d0");
    }
};

QTEST_GUILESS_MAIN(TstPlanSequences)
#include "tst_plan_sequences.moc"
