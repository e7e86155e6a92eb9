// SPDX-License-Identifier: Apache-2.0
//
// Real exports: they open, are written back byte for byte, and have the shapes that running them
// gives.

#include "model/document.h"
#include "model/shapes.h"
#include "support/shared_files.h"

#include <QtTest>

#include <onnx/onnx_pb.h>

#include <fstream>

using namespace shardwright;
using namespace shardwright::test;
namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

onnx::TensorProto tensorIn(const fs::path& path) {
    onnx::TensorProto tensor;
    tensor.ParseFromString(contents(path));
    return tensor;
}

/// Sizes of the symbols that the reference inputs have.
Bindings bindingsOf(const Model& model, const fs::path& reference) {
    Bindings bindings;
    int number = 0;
    for (const ValueId id : model.graph().main().inputs) {
        const onnx::TensorProto tensor =
            tensorIn(reference / ("input_" + std::to_string(number++) + ".pb"));
        for (const auto& input : model.proto().graph().input()) {
            if (input.name() != model.graph().value(id).name)
                continue;
            for (int axis = 0; axis < input.type().tensor_type().shape().dim_size(); ++axis) {
                const auto& dimension = input.type().tensor_type().shape().dim(axis);
                const std::string anonymous = input.name() + "#" + std::to_string(axis);
                bindings.sizes[dimension.has_dim_param() ? dimension.dim_param() : anonymous] =
                    tensor.dims(axis);
            }
        }
    }
    return bindings;
}

void addModels() {
    QTest::addColumn<QString>("path");
    for (const fs::path& path : sharedModels())
        QTest::newRow(path.filename().c_str()) << QString::fromStdString(path.native());
}

}  // namespace

class TstSharedModels : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (sharedModels().empty())
            QSKIP("needs the models of the shared folder, which are not there");
    }

    void openAndSaveByteForByte_data() { addModels(); }
    void openAndSaveByteForByte() {
        QFETCH(QString, path);
        const auto document = Document::open(path.toStdString());
        QVERIFY2(document, document ? "" : document.error().text().c_str());
        QVERIFY(*document->toBytes() == contents(path.toStdString()));
        QVERIFY(document->graph().problems.empty());
        for (const GraphInfo& graph : document->graph().graphs)
            QCOMPARE(graph.order.size(), graph.nodes.size());
        for (const NodeInfo& node : document->graph().nodes)
            QVERIFY(node.scope);
    }

    void everySizeIsKnownWithAllInputsBound_data() { addModels(); }
    void everySizeIsKnownWithAllInputsBound() {
        QFETCH(QString, path);
        const auto document = Document::open(path.toStdString());
        const auto table = ShapeTable::build(document->model, {});
        int unknown = 0;
        for (const ValueInfo& value : document->graph().values) {
            const TensorInfo& info = table->of(value.id);
            unknown += info.kind != TensorInfo::Kind::Other && !info.concrete() ? 1 : 0;
        }
        QCOMPARE(unknown, 0);
    }

    void outputsHaveTheShapesThatRunningGives_data() { addModels(); }
    void outputsHaveTheShapesThatRunningGives() {
        QFETCH(QString, path);
        const fs::path file = path.toStdString();
        const fs::path reference = file.parent_path() / "ref" / file.stem() / "test_data_set_0";
        if (!fs::exists(reference / "input_0.pb"))
            QSKIP("has no reference outputs");
        const auto document = Document::open(file);
        const auto table =
            ShapeTable::build(document->model, bindingsOf(*document->model, reference));
        int number = 0;
        for (const ValueId id : document->graph().main().outputs) {
            const fs::path output = reference / ("output_" + std::to_string(number++) + ".pb");
            if (!fs::exists(output))
                continue;
            const onnx::TensorProto tensor = tensorIn(output);
            const TensorInfo& info = table->of(id);
            QCOMPARE(info.elementType, tensor.data_type());
            // Two branches of other ranks, and the condition is an input.
            if (info.hasRank && info.concrete())
                QCOMPARE(info.dims,
                         std::vector<std::int64_t>(tensor.dims().begin(), tensor.dims().end()));
            else
                QVERIFY(file.stem() == "silero_vad__silero_vad");
        }
    }

    void scopesAreReadable_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("scope");
        QTest::newRow("PyTorch dynamo, BERT") << "bert_4l_dynamo.onnx"
                                              << "m/encoder/layer.0/attention/self";
        QTest::newRow("PyTorch dynamo, GPT-2") << "gpt2_12l_dynamo.onnx"
                                               << "m/transformer/h.5/mlp/c_fc";
        QTest::newRow("PyTorch dynamo, opset 23") << "attn_rope_opset23_dynamo.onnx"
                                                  << "layers.1";
        QTest::newRow("PyTorch legacy") << "llama_4l_gqa_legacy.onnx"
                                        << "m/model/layers.0/self_attn/q_proj";
        QTest::newRow("quantised") << "bert_4l_qdq.onnx"
                                   << "m/encoder/layer.0/attention/self";
    }

    void scopesAreReadable() {
        QFETCH(QString, file);
        QFETCH(QString, scope);
        const auto path = sharedFile("models/" + file.toStdString());
        SKIP_WITHOUT(path, "models/" + file);
        const auto document = Document::open(*path);
        const auto& scopes = document->graph().scopes;
        QVERIFY(std::any_of(scopes.begin(), scopes.end(), [&](const ScopeInfo& info) {
            return info.path == scope.toStdString();
        }));
        // Hardly anything stays at the root.
        QVERIFY2(scopes[0].nodes.size() < 20, qPrintable(QString::number(scopes[0].nodes.size())));
    }

    void inputSymbolsAreKept() {
        const auto path = sharedFile("models/llama_4l_gqa_legacy.onnx");
        SKIP_WITHOUT(path, "llama_4l_gqa_legacy.onnx");
        const auto document = Document::open(*path);
        const auto table = ShapeTable::build(document->model, {{{"batch", 2}}, 5});
        QCOMPARE(table->usedBindings(),
                 (std::map<std::string, std::int64_t>{{"batch", 2}, {"seq", 5}}));
        const TensorInfo& hidden = table->of(document->graph().findValue(
            GraphId(0), "/m/model/layers.0/self_attn/q_proj/MatMul_output_0"));
        QCOMPARE(hidden.symbolic.at(0).symbol, std::string("batch"));
        QCOMPARE(hidden.symbolic.at(1).symbol, std::string("seq"));
        QCOMPARE(hidden.dims.at(1), 5);
    }
};

QTEST_GUILESS_MAIN(TstSharedModels)
#include "tst_shared_models.moc"
