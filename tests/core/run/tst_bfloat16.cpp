// SPDX-License-Identifier: Apache-2.0
// The CPU provider of ONNX Runtime has few kernels of bfloat16; such segments run in float32.
#include "run/bfloat16_segments.h"
#include "run/ort_api.h"
#include "run/run_job.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/model_builder.h"

#include <QtTest/QTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

constexpr int kBFloat16 = onnx::TensorProto::BFLOAT16;

std::string annotated(Document document, const std::vector<std::string>& shards) {
    LayoutPool pool;
    AnnotateRequest request;
    request.mesh = "tp=2";
    request.shards = shards;
    auto outcome = annotate(document, *ShapeTable::build(document.model, {}), request, pool);
    if (!outcome)
        qFatal("%s", outcome.error().text().c_str());
    apply(document.annotations, outcome->edit);
    return document.toBytes().value();
}

onnx::TensorProto ones(const std::string& name, int rows) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(kBFloat16);
    tensor.add_dims(rows);
    tensor.add_dims(6);
    for (int i = 0; i < rows * 6; ++i)
        tensor.mutable_raw_data()->append("\x80\x3f", 2);
    return tensor;
}

/// MatMul, its sum over the split axis, and what follows of it.
ModelBuilder model(const QString& kind) {
    ModelBuilder builder;
    // A large weight is read when the session is made.
    const int rows = kind == "large weight" ? 800 : 8;
    builder.input("x", {4, rows}, kBFloat16);
    if (kind.endsWith("weight"))
        builder.initializer(ones("w", rows));
    else
        builder.input("w", {8, 6}, kBFloat16);
    builder.op("MatMul", {"x", "w"}, {"h"}, "mm");
    if (kind == "body") {
        ModelBuilder branch;
        branch.op("MatMul", {"h", "v"}, {"s"}, "inner").output("s", {4, 6}, kBFloat16);
        builder.input("b", {}, onnx::TensorProto::BOOL).input("v", {6, 6}, kBFloat16);
        builder.op("If", {"b"}, {"y"}, "if",
                   {{"then_branch", branch.graph()}, {"else_branch", branch.graph()}});
    } else if (kind == "cast") {
        builder.op("Cast", {"h"}, {"f"}, "up", {{"to", int{onnx::TensorProto::FLOAT}}});
        builder.op("Cast", {"f"}, {"y"}, "down", {{"to", kBFloat16}});
    } else {
        builder.op("Relu", {"h"}, {"y"}, "act");
    }
    return builder.output("y", {4, 6}, kBFloat16);
}

}  // namespace

class TstBfloat16 : public QObject {
    Q_OBJECT

private slots:
    void aModelOfBfloat16RunsAndVerifies_data() {
        QTest::addColumn<QString>("kind");
        for (const char* kind : {"inputs", "weight", "large weight", "body", "cast"})
            QTest::newRow(kind) << kind;
    }
    void aModelOfBfloat16RunsAndVerifies() {
        if (!OrtRuntime::find())
            QSKIP("needs ONNX Runtime, which is not there");
        QFETCH(QString, kind);
        RunRequest request;
        request.modelBytes = annotated(model(kind).document(), {"x:1=tp", "w:0=tp"});
        request.verify = VerifyMode::All;
        const RunOutcome outcome = runJob(request, [](const RunEvent&) {});
        const auto* failure = std::get_if<RunFailure>(&outcome);
        QVERIFY2(!failure, failure ? failure->message.c_str() : "");
        const RunReport& report = std::get<RunReport>(outcome);
        QCOMPARE(report.verified, std::optional(true));
        QCOMPARE(report.executed.at("all-reduce").bytes, std::int64_t{4 * 6 * 2});
        QVERIFY(report.executed == report.predicted);
    }

    void nothingIsChangedWithoutBfloat16() {
        ModelBuilder builder;
        builder.input("x", {4}).op("Relu", {"x"}, {"y"}).output("y", {4});
        QVERIFY(!inFloat32(builder.bytes()));
        QVERIFY(!inFloat32("no model"));
    }

    void portsKeepTheirType() {
        const auto widened = inFloat32(model("inputs").bytes());
        QVERIFY(widened);
        onnx::ModelProto proto;
        QVERIFY(proto.ParseFromString(widened->modelBytes));
        for (const auto* ports : {&proto.graph().input(), &proto.graph().output()})
            for (const auto& port : *ports)
                QCOMPARE(port.type().tensor_type().elem_type(), kBFloat16);
        QCOMPARE(widened->ports.size(), 3U);
        QCOMPARE(proto.graph().node_size(), 2 + 3);
    }
};

QTEST_GUILESS_MAIN(TstBfloat16)
#include "tst_bfloat16.moc"
