// SPDX-License-Identifier: Apache-2.0
//
// Large and deep graphs on a small stack: nothing may recurse over the graph.

#include "model/document.h"
#include "model/shapes.h"
#include "support/model_builder.h"

#include <QtTest>

#include <pthread.h>

#include <functional>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// Runs the function on a thread with a stack of 512 KiB.
void onSmallStack(std::function<void()> function) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 * 1024);
    pthread_t thread{};
    const auto start = [](void* argument) -> void* {
        (*static_cast<std::function<void()>*>(argument))();
        return nullptr;
    };
    QCOMPARE(pthread_create(&thread, &attributes, start, &function), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

std::string chain(int length) {
    ModelBuilder builder;
    builder.input("v0", {"n", 4});
    for (int i = 0; i < length; ++i)
        builder.op("Identity", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)},
                   "n" + std::to_string(i));
    return builder.output("v" + std::to_string(length), {"n", 4}).bytes();
}

}  // namespace

class TstDeepGraphs : public QObject {
    Q_OBJECT

private slots:
    void aChainOfAHundredThousandNodes() {
        constexpr int length = 100000;
        const std::string bytes = chain(length);
        std::string saved;
        std::vector<std::int64_t> dims;
        std::size_t sorted = 0;
        onSmallStack([&] {
            Document document{*Model::fromBytes(bytes), {}};
            document.annotations = document.model->annotations();
            onnx::NodeDeviceConfigurationProto annotation;
            annotation.set_configuration_id("c");
            document.annotations.nodes.set(length - 1,
                                           std::make_shared<const NodeAnnotation>(1, annotation));
            saved = *document.toBytes();
            sorted = document.graph().main().order.size();
            dims =
                ShapeTable::build(document.model, {})->of(document.graph().main().outputs[0]).dims;
        });
        QCOMPARE(sorted, std::size_t(length));
        QCOMPARE(dims, (std::vector<std::int64_t>{8, 4}));
        onnx::ModelProto proto;
        QVERIFY(proto.ParseFromString(saved));
        QCOMPARE(proto.graph().node(length - 1).device_configurations_size(), 1);
        QCOMPARE(proto.graph().node(0).device_configurations_size(), 0);
    }

    void aBackwardChainAndACycleOfAHundredThousandNodes() {
        constexpr int length = 100000;
        ModelBuilder builder;
        for (int i = length; i-- > 0;)
            builder.op("Identity", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
        const std::string backward =
            ModelBuilder(builder).input("v0", {4}).output("v100000").bytes();
        const std::string cycle = builder.op("Identity", {"v100000"}, {"v0"}).bytes();
        std::size_t sorted = 0;
        std::size_t cyclic = 0;
        onSmallStack([&] {
            const auto model = *Model::fromBytes(backward);
            sorted = model->graph().main().order.size();
            (void)ShapeTable::build(model, {});
            cyclic = (*Model::fromBytes(cycle))->graph().main().cyclic.size();
        });
        QCOMPARE(sorted, std::size_t(length));
        QCOMPARE(cyclic, std::size_t(length + 1));
    }

    void bodiesAsDeepAsTheParserAllows() {
        onnx::GraphProto body = ModelBuilder{}.op("Relu", {"x"}, {"t"}, "leaf").output("t").graph();
        int depth = 0;
        std::string bytes;
        std::string deepest;
        // Find the deepest that still opens, so that the test follows the limit.
        for (;; ++depth) {
            bytes =
                ModelBuilder{}
                    .input("c", {}, onnx::TensorProto::BOOL)
                    .input("x", {4})
                    .op("If", {"c"}, {"y"}, "top", {{"then_branch", body}, {"else_branch", body}})
                    .output("y")
                    .bytes();
            if (depth == 8)
                break;  // Two branches each: 2^9 bodies.
            body = ModelBuilder{}
                       .op("If", {"c"}, {"t"}, "if", {{"then_branch", body}, {"else_branch", body}})
                       .output("t")
                       .graph();
        }
        std::vector<std::int64_t> dims;
        onSmallStack([&] {
            const auto model = *Model::fromBytes(bytes);
            dims = ShapeTable::build(model, {})->of(model->graph().main().outputs[0]).dims;
            for (const NodeInfo& node : model->graph().nodes)
                deepest = std::max(deepest, model->graph().place(node.id).scope);
        });
        QCOMPARE(dims, std::vector<std::int64_t>{4});
        QVERIFY(!deepest.empty());
    }

    void loopsInLoopsEnd() {
        // The optimistic runs of a body multiply with every level.
        onnx::GraphProto body;
        for (int depth = 0; depth < 28; ++depth) {
            ModelBuilder builder;
            builder.input("i", {}, onnx::TensorProto::INT64)
                .input("c", {}, onnx::TensorProto::BOOL)
                .inputOfUnknownShape("s");
            if (depth == 0)
                builder.op("Concat", {"s", "s"}, {"s2"}, "leaf", {{"axis", 0}});
            else
                builder.op("Loop", {"trips", "", "s"}, {"s2"}, "loop" + std::to_string(depth),
                           {{"body", body}});
            body = builder.op("Identity", {"c"}, {"c2"}).output("c2").output("s2").graph();
        }
        const std::string bytes =
            ModelBuilder{}
                .scalar("trips", 2)
                .input("x", {4, 3})
                .op("Loop", {"trips", "", "x"}, {"y"}, "top", {{"body", body}})
                .output("y")
                .bytes();
        std::vector<std::int64_t> dims;
        QElapsedTimer timer;
        timer.start();
        onSmallStack([&] {
            const auto model = *Model::fromBytes(bytes);
            dims = ShapeTable::build(model, {})->of(model->graph().main().outputs[0]).dims;
        });
        QVERIFY2(timer.elapsed() < 20000, qPrintable(QString::number(timer.elapsed())));
    }

    void functionsThatCallEachOtherInAChain() {
        constexpr int length = 2000;
        ModelBuilder builder;
        for (int i = 0; i < length; ++i) {
            ModelBuilder body;
            body.opset("d", 1)
                .input("a", {1})
                .op("F" + std::to_string(i + 1), {"a"}, {"b"}, "", {}, "d")
                .output("b");
            builder.function("d", "F" + std::to_string(i), body);
        }
        const std::string bytes =
            builder.input("x", {4}).op("F0", {"x"}, {"y"}, "", {}, "d").output("y").bytes();
        std::size_t graphs = 0;
        onSmallStack([&] {
            const auto model = *Model::fromBytes(bytes);
            graphs = model->graph().graphs.size();
            (void)ShapeTable::build(model, {});
        });
        QCOMPARE(graphs, std::size_t(length + 1));
    }
};

QTEST_GUILESS_MAIN(TstDeepGraphs)
#include "tst_deep_graphs.moc"
