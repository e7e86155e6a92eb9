// SPDX-License-Identifier: Apache-2.0
#include "support/model_builder.h"  // First: moc of Qt 6.4 cannot parse <compare> before another standard header.

#include "rules/examples.h"
#include "run/index_use.h"
#include "run/inputs.h"
#include "support/shared_files.h"

#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <fstream>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

std::shared_ptr<const ShapeTable> shapesOf(const std::shared_ptr<const Model>& model,
                                           Bindings bindings = {}) {
    return ShapeTable::build(model, std::move(bindings));
}

IndexUse useOf(const ModelBuilder& builder, const std::string& input = "i") {
    const auto model = builder.model();
    return findIndexUse(model->graph(), *shapesOf(model), valueNamed(model->graph(), input));
}

template <class E>
std::vector<E> elements(const Buffer& buffer) {
    const auto* data = reinterpret_cast<const E*>(buffer.data());
    return {data, data + buffer.count()};
}

void writeTensor(const QTemporaryDir& folder, const char* file, const onnx::TensorProto& tensor) {
    std::ofstream out(folder.filePath(file).toStdString(), std::ios::binary);
    tensor.SerializeToOstream(&out);
}

ModelBuilder twoInputs() {
    ModelBuilder builder;
    builder.input("x", {"n", 3}).input("i", {"n"}, T::INT64).op("Gather", {"x", "i"}, {"y"});
    return builder.output("y", {"n", 3});
}

}  // namespace

class TstInputs : public QObject {
    Q_OBJECT

private slots:
    void indicesAreBoundByTheAxisTheyIndex() {
        QCOMPARE(useOf(ModelBuilder{}
                           .weight("w", {7, 5})
                           .input("i", {3}, T::INT64)
                           .op("Gather", {"w", "i"}, {"y"})
                           .output("y"))
                     .bound,
                 7);
        QCOMPARE(useOf(ModelBuilder{}
                           .weight("w", {7, 5})
                           .input("i", {3}, T::INT64)
                           .op("Gather", {"w", "i"}, {"y"}, "", {{"axis", -1}})
                           .output("y"))
                     .bound,
                 5);
        QCOMPARE(useOf(ModelBuilder{}
                           .weight("w", {7, 5})
                           .input("i", {7, 2}, T::INT64)
                           .op("GatherElements", {"w", "i"}, {"y"}, "", {{"axis", 1}})
                           .output("y"))
                     .bound,
                 5);
        QCOMPARE(useOf(ModelBuilder{}
                           .weight("w", {7, 5})
                           .input("i", {3, 2}, T::INT64)
                           .op("GatherND", {"w", "i"}, {"y"})
                           .output("y"))
                     .bound,
                 5);
    }

    void viewsAndCastsAreFollowedAndTheSmallestBoundWins() {
        ModelBuilder builder;
        builder.weight("w", {7, 5})
            .weight("v", {9, 2})
            .input("i", {3}, T::INT32)
            .ints("shape", {1, 3});
        builder.op("Cast", {"i"}, {"c"}, "", {{"to", int(T::INT64)}})
            .op("Reshape", {"c", "shape"}, {"r"});
        builder.op("Transpose", {"r"}, {"t"})
            .op("Gather", {"w", "t"}, {"y"})
            .op("Gather", {"v", "c"}, {"z"});
        QCOMPARE(useOf(builder.output("y").output("z")).bound, 7);
    }

    void integersThatCountSomethingAreBoundByIt_data() {
        QTest::addColumn<QString>("domain");
        QTest::addColumn<QString>("graph");
        QTest::addColumn<int>("bound");
        const auto add = [](const char* name, const char* graph, int bound,
                            const char* domain = "") {
            QTest::newRow(name) << domain << graph << bound;
        };
        add("RoiAlign: images",
            "(float[5,3,8,8] x, float[4,4] r, int64[4] i) => (y) { y = RoiAlign<output_height = 2, "
            "output_width = 2>(x, r, i) }",
            5);
        add("TensorScatter: where the update begins",
            "(float[2,3,8,4] c, float[2,3,2,4] u, int64[2] i) => (y) { y = TensorScatter<axis = "
            "2>(c, u, i) }",
            7);
        add("MaxUnpool: elements of the output",
            "(float[1,1,2,2] x, int64[1,1,2,2] i) => (y) { y = MaxUnpool<kernel_shape = [2,2], "
            "strides = [2,2]>(x, i) }",
            16);
        add("NegativeLogLikelihoodLoss: classes",
            "(float[3,5] x, int64[3] i) => (y) { y = NegativeLogLikelihoodLoss(x, i) }", 5);
        add("SoftmaxCrossEntropyLoss: classes",
            "(float[3,2] x, int64[3] i) => (y) { y = SoftmaxCrossEntropyLoss(x, i) }", 2);
        add("OneHot: classes",
            "(int64[3] i, float[2] v) => (y) <int64 d = {6}> { y = OneHot(i, d, v) }", 6);
        add("ReverseSequence: up to the whole",
            "(float[2,3] x, int64[3] i) => (y) { y = ReverseSequence(x, i) }", 3);
        add("ScatterND: rows",
            "(float[5,6] x, int64[4,1] i, float[4,6] u) => (y) { y = ScatterND(x, i, u) }", 5);
        add("a part of a Split",
            "(float[5,6] x, int64[4] i) => (y) { a, b = Split<num_outputs = 2>(i) y = Gather(x, b) "
            "}",
            5);
        add("a Concat that is one column of another",
            "(float[9,4] x, int64[3,1] i, int64[3,1] o) => (y) { a = Concat<axis = 1>(o, i) b = "
            "Identity(a) y = GatherND(x, b) }",
            4);
        add("rows that a Concat puts below others",
            "(float[9,4] x, int64[3,1] i, int64[3,1] o) => (y) { a = Concat<axis = 0>(o, i) c = "
            "Concat<axis = 1>(a, a) y = GatherND(x, c) }",
            4);
        add("GatherBlockQuantized",
            "(uint8[6,16] t, int64[4] i, float[6,2] s) => (y) { y = "
            "com.microsoft.GatherBlockQuantized<bits = 4, block_size = 16>(t, i, s) }",
            6, "com.microsoft");
        add("RotaryEmbedding: positions",
            "(float[4,6,16] x, int64[4,6] i, float[12,4] c, float[12,4] s) => (y) { y = "
            "com.microsoft.RotaryEmbedding(x, i, c, s) }",
            12, "com.microsoft");
        add("RotaryEmbedding: the first position",
            "(float[4,6,16] x, int64[1] i, float[12,4] c, float[12,4] s) => (y) { y = "
            "com.microsoft.RotaryEmbedding(x, i, c, s) }",
            7, "com.microsoft");
        add("EmbedLayerNormalization: words",
            "(int32[4,6] i, int32[4,6] g, float[12,8] w, float[8,8] p, float[2,8] k, float[8] a, "
            "float[8] b) => (y, m) { y, m = com.microsoft.EmbedLayerNormalization(i, g, w, p, k, "
            "a, b) }",
            12, "com.microsoft");
        add("ArrayFeatureExtractor",
            "(float[3,5] x, int64[2] i) => (y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }", 5,
            "ai.onnx.ml");
        add("arithmetic is not followed",
            "(float[5,6] x, int64[4] i) => (y) { a = Add(i, i) y = Gather(x, a) }", -1);
    }
    void integersThatCountSomethingAreBoundByIt() {
        QFETCH(QString, domain);
        QFETCH(QString, graph);
        QFETCH(int, bound);
        const auto model = exampleModel({domain.toStdString(), "", graph.toStdString()});
        QVERIFY2(model, model ? "" : model.error().text().c_str());
        const IndexUse use =
            findIndexUse((*model)->graph(), *shapesOf(*model), valueNamed((*model)->graph(), "i"));
        QCOMPARE(use.bound, bound);
    }

    void aColumnOfIndexTuplesIsBoundByItsOwnAxis() {
        for (const bool first : {true, false}) {
            ModelBuilder builder;
            builder.weight("w", {7, 50})
                .input("i", {3, 1}, T::INT64)
                .input("other", {3, 1}, T::INT64);
            builder.op("Concat",
                       first ? std::vector<std::string>{"i", "other"}
                             : std::vector<std::string>{"other", "i"},
                       {"c"}, "", {{"axis", -1}});
            builder.op("GatherND", {"w", "c"}, {"y"});
            QCOMPARE(useOf(builder.output("y")).bound, first ? 7 : 50);
        }
    }

    void aCastToBoolMakesAMask() {
        ModelBuilder builder;
        builder.input("i", {2, 4}, T::INT64)
            .ints("axes", {1})
            .op("Unsqueeze", {"i", "axes"}, {"u"});
        builder.op("Cast", {"u"}, {"b"}, "", {{"to", int(T::BOOL)}})
            .output("b", {2, 1, 4}, T::BOOL);
        QVERIFY(useOf(builder).mask);
        const auto model = builder.model();
        const auto inputs = randomInputs(*model, *shapesOf(model), 3);
        QVERIFY(inputs);
        const auto mask = elements<std::int64_t>(inputs->at("i"));
        for (const std::int64_t value : mask)
            QVERIFY(value == 0 || value == 1);
        QVERIFY(mask[0] == 1 && mask[4] == 1);
    }

    void indicesInsideOfFunctionsAndBodiesAreFound() {
        ModelBuilder body;
        body.input("a", {}).input("b", {}).op("Gather", {"a", "b"}, {"c"}).output("c");
        ModelBuilder builder;
        builder.weight("w", {7, 5})
            .input("i", {3}, T::INT64)
            .function("f", "Pick", body)
            .op("Pick", {"w", "i"}, {"y"}, "", {}, "f");
        builder.output("y", {3, 5});
        // The function's own shapes may not be known; nothing worse than no bound may come of it.
        QVERIFY(useOf(builder).bound == 7 || useOf(builder).bound == -1);

        ModelBuilder then;
        then.op("Gather", {"w", "i"}, {"t"}).output("t", {3, 5});
        ModelBuilder conditional;
        conditional.weight("w", {7, 5}).input("i", {3}, T::INT64).input("cond", {}, T::BOOL);
        conditional
            .op("If", {"cond"}, {"y"}, "",
                {{"then_branch", then.graph()}, {"else_branch", then.graph()}})
            .output("y", {3, 5});
        QCOMPARE(useOf(conditional).bound, 7);
    }

    void randomInputsDependOnSeedAndNameOnly() {
        const auto model = twoInputs().model();
        const auto shapes = shapesOf(model);
        const auto a = randomInputs(*model, *shapes, 1), b = randomInputs(*model, *shapes, 1),
                   c = randomInputs(*model, *shapes, 2);
        QVERIFY(a && b && c);
        QCOMPARE(elements<float>(a->at("x")), elements<float>(b->at("x")));
        QVERIFY(elements<float>(a->at("x")) != elements<float>(c->at("x")));
        // Fixed for good: a change would make saved results meaningless.
        QVERIFY(std::abs(elements<float>(a->at("x"))[0]) <= 3.47f);
        for (const std::int64_t i : elements<std::int64_t>(a->at("i")))
            QVERIFY(i >= 0 && i < 8);
    }

    void floatsAreNearlyNormal() {
        const auto model =
            ModelBuilder{}.input("x", {100, 1000}).op("Identity", {"x"}, {"y"}).output("y").model();
        const auto inputs = randomInputs(*model, *shapesOf(model), 1);
        double sum = 0, squares = 0;
        for (const float x : elements<float>(inputs->at("x"))) {
            sum += x;
            squares += x * x;
        }
        QVERIFY(std::abs(sum / 1e5) < 0.02);
        QVERIFY(std::abs(squares / 1e5 - 1) < 0.02);
    }

    void inputsWithDefaultsGetThem() {
        ModelBuilder builder;
        builder.input("x", {2})
            .initializer(randomTensor("x", {2}))
            .op("Identity", {"x"}, {"y"})
            .output("y");
        const auto model = builder.model();
        const auto inputs = randomInputs(*model, *shapesOf(model), 1);
        QVERIFY(inputs);
        if (inputs->count("x"))
            QVERIFY(std::abs(elements<float>(inputs->at("x"))[0]) <= 0.5f);
    }

    void tensorFilesAreReadAndBindSymbols() {
        QTemporaryDir folder;
        writeTensor(folder, "input_0.pb", randomTensor("x", {5, 3}));
        writeTensor(folder, "input_1.pb", intTensor("i", {5}, {0, 1, 2, 3, 4}));
        const auto model = twoInputs().model();
        const auto files = InputFiles::open(folder.path().toStdString(), *model);
        QVERIFY2(files, files ? "" : files.error().text().c_str());
        const auto bindings = files->bindings(*model);
        QVERIFY(bindings);
        QCOMPARE(*bindings, (std::map<std::string, std::int64_t>{{"n", 5}}));
        const auto inputs = files->load(*model, *shapesOf(model, {*bindings, 8}));
        QVERIFY2(inputs, inputs ? "" : inputs.error().text().c_str());
        QCOMPARE(elements<std::int64_t>(inputs->at("i")),
                 (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
        // Bound otherwise, the shapes are refused with both.
        const auto refused = files->load(*model, *shapesOf(model));
        QVERIFY(!refused);
        QVERIFY2(refused.error().message == "found FLOAT [5,3], expected FLOAT [8,3]",
                 refused.error().message.c_str());
    }

    void wrongFilesAreRefused_data() {
        QTest::addColumn<QString>("what");
        QTest::addColumn<QString>("message");
        QTest::newRow("name") << "name"
                              << "the tensor is named `z`, expected `x`";
        QTest::newRow("empty folder") << "none"
                                      << "no input_0.pb";
        QTest::newRow("garbage") << "garbage"
                                 << "not a TensorProto";
        QTest::newRow("too many") << "many"
                                  << "the model has only 2 inputs";
        QTest::newRow("too few elements") << "short"
                                          << "";
        QTest::newRow("negative size") << "negative"
                                       << "";
        QTest::newRow("external") << "external"
                                  << "external data is not read";
        QTest::newRow("rank") << "rank"
                              << "expected 2 dimensions";
        QTest::newRow("conflict") << "conflict"
                                  << "another input has 5";
        QTest::newRow("missing") << "missing"
                                 << "it is missing; expected INT64 [5]";
        QTest::newRow("type") << "type"
                              << "found INT64 [5,3], expected FLOAT [5,3]";
    }
    void wrongFilesAreRefused() {
        QFETCH(QString, what);
        QFETCH(QString, message);
        QTemporaryDir folder;
        onnx::TensorProto x = randomTensor("x", {5, 3}), i = intTensor("i", {5}, {0, 1, 2, 3, 4});
        if (what == "name")
            x.set_name("z");
        if (what == "short")
            x.mutable_raw_data()->resize(8);
        if (what == "negative")
            x.set_dims(0, -5);
        if (what == "external")
            x.set_data_location(onnx::TensorProto::EXTERNAL);
        if (what == "rank")
            x = randomTensor("x", {15});
        if (what == "conflict")
            i = intTensor("i", {2}, {0, 1});
        if (what == "type")
            x = randomTensor("x", {5, 3}, T::INT64);
        if (what != "none")
            writeTensor(folder, "input_0.pb", x);
        if (what == "garbage")
            std::ofstream(folder.filePath("input_0.pb").toStdString()) << "this is not a tensor";
        if (what != "none" && what != "missing")
            writeTensor(folder, "input_1.pb", i);
        if (what == "many")
            writeTensor(folder, "input_2.pb", i);
        const auto model = twoInputs().model();
        const auto files = InputFiles::open(folder.path().toStdString(), *model);
        std::string text = files ? "" : files.error().message;
        if (files) {
            const auto bindings = files->bindings(*model);
            text = bindings ? "" : bindings.error().message;
            if (bindings) {
                const auto inputs = files->load(*model, *shapesOf(model, {*bindings, 8}));
                text = inputs ? "" : inputs.error().message;
            }
        }
        QVERIFY(!text.empty());
        QVERIFY2(text.find(message.toStdString()) != std::string::npos, text.c_str());
    }

    void referenceInputsOfAllModelsAreRead() {
        int read = 0;
        for (const auto& path : sharedModels()) {
            const auto folder =
                sharedFile("models/ref/" + path.stem().string() + "/test_data_set_0");
            const auto model =
                folder ? Model::load(path) : Result<std::shared_ptr<const Model>>(Error{});
            if (!model)
                continue;
            const auto files = InputFiles::open(*folder, **model);
            QVERIFY2(files, files ? "" : files.error().text().c_str());
            const auto bindings = files->bindings(**model);
            QVERIFY2(bindings, bindings ? "" : bindings.error().text().c_str());
            const auto inputs = files->load(**model, *shapesOf(*model, {*bindings, 8}));
            QVERIFY2(inputs, inputs ? "" : inputs.error().text().c_str());
            ++read;
        }
        if (read == 0)
            QSKIP("needs the shared models, which are not there");
    }
};

QTEST_GUILESS_MAIN(TstInputs)
#include "tst_inputs.moc"
