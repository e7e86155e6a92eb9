// SPDX-License-Identifier: Apache-2.0
#include "plan_case.h"

#include "plan/graph_writer.h"
#include "plan/weights.h"

#include <onnx/checker.h>

#include <cstring>
#include <set>

using namespace shardwright;
using namespace shardwright::test;

/// What is in the programs: segments that any ONNX tool takes, weights cut, exchanges in one order.
class TstPlanSegments : public QObject {
    Q_OBJECT

    static PlanCase megatron() {
        PlanCase c(ModelBuilder()
                       .input("x", {6, 8})
                       .weight("w1", {8, 12})
                       .weight("w2", {12, 10})
                       .op("MatMul", {"x", "w1"}, {"h"}, "mm1")
                       .op("Relu", {"h"}, {"r"}, "relu")
                       .op("MatMul", {"r", "w2"}, {"y"}, "mm2")
                       .op("Exp", {"y"}, {"z"}, "exp")
                       .output("z", {6, 10}),
                   "tp=2");
        c.shard("w1@mm1:1=tp").shard("w2@mm2:0=tp");
        return c;
    }
    static onnx::ModelProto parsed(const Segment& segment) {
        onnx::ModelProto model;
        if (!model.ParseFromString(segment.modelBytes))
            qFatal("a segment does not parse");
        return model;
    }
    static std::shared_ptr<const Plan> lowered(const PlanCase& c) {
        const auto plan = lower(*c.analyse());
        if (!plan)
            qFatal("%s", plan.error().text().c_str());
        return *plan;
    }

private slots:
    void segmentsPassTheChecker() {
        const auto plan = lowered(megatron());
        for (const DeviceProgram& device : plan->devices)
            for (const Segment& segment : device.segments) {
                onnx::ModelProto model = parsed(segment);
                onnx::checker::check_model(model, true);
                QCOMPARE(model.ir_version(), 10);
                QVERIFY(model.configuration().empty());
                for (const auto& node : model.graph().node())
                    QVERIFY(node.device_configurations().empty());
            }
    }
    void weightsAreCut() {
        const auto plan = lowered(megatron());
        const onnx::ModelProto model = parsed(plan->devices[1].segments[0]);
        QCOMPARE(model.graph().initializer_size(), 2);
        QCOMPARE(model.graph().initializer(0).dims(1), 6);
        QCOMPARE(model.graph().initializer(1).dims(0), 6);
    }
    /// On two devices, `table` in two segments of each, `w` in halves.
    void largeWeightsAreReferencesAndSharedOnesOne() {
        PlanCase c(ModelBuilder()
                       .input("x", {2, 64})
                       .weight("table", {64, 64})
                       .weight("w", {64, 64})
                       .op("MatMul", {"x", "table"}, {"a"}, "first")
                       .op("MatMul", {"a", "w"}, {"b"}, "split")
                       .op("MatMul", {"b", "table"}, {"c"}, "second")
                       .output("c", {2, 64}),
                   "tp=2");
        c.shard("w@split:0=tp");
        const auto plan = lowered(c);
        QCOMPARE(plan->weights.size(), std::size_t{3});
        std::multiset<std::pair<int, std::int64_t>> found;
        for (const Weight& weight : plan->weights)
            found.insert({weight.uses, weight.bytes});
        QCOMPARE(found,
                 (std::multiset<std::pair<int, std::int64_t>>{{1, 8192}, {1, 8192}, {4, 16384}}));
        for (const DeviceProgram& device : plan->devices)
            for (const Segment& segment : device.segments) {
                QVERIFY(!segment.weights.empty());
                QVERIFY(segment.modelBytes.size() < 2000);
            }
        QCOMPARE(QString::fromStdString(c.verify()), QString());
    }
    /// A segment's own tensors: [6, 6] twice on a device, not at the same time as [6, 12] whole.
    void workIsWhatIsAliveWithinASegment() {
        const auto plan = lowered(megatron());
        QCOMPARE(plan->devices[0].segments[0].workBytes, 2 * 6 * 6 * 4);
    }
    void elementsBelowAByteAreCutAnywhere_data() {
        QTest::addColumn<int>("columns");
        QTest::newRow("inside of the segment") << 5;
        QTest::newRow("read when the session is made") << 5001;
    }
    void elementsBelowAByteAreCutAnywhere() {
        QFETCH(int, columns);
        onnx::TensorProto w;
        w.set_name("w");
        w.set_data_type(onnx::TensorProto::INT4);
        w.add_dims(6);
        w.add_dims(columns);
        std::string bytes(static_cast<std::size_t>(columns) * 3, '\0');
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<char>(i * 37 + i / 7);
        w.set_raw_data(bytes);
        PlanCase c(ModelBuilder()
                       .input("x", {4, 6})
                       .initializer(w)
                       .real("scale", 0.5F)
                       .op("DequantizeLinear", {"w", "scale"}, {"f"}, "dq")
                       .op("MatMul", {"x", "f"}, {"y"}, "mm")
                       .output("y", {4, columns}),
                   "tp=2");
        c.shard("w@dq:0=tp");
        QCOMPARE(QString::fromStdString(c.verify()), QString());
        QCOMPARE(c.plan().weights.empty(), columns == 5);
    }
    void partialResultsAreMarked() {
        const auto plan = lowered(megatron());
        QCOMPARE(plan->exchanges[0].size(), std::size_t{1});
        const Exchange& exchange = plan->exchanges[0][0];
        for (int rank = 0; rank < 2; ++rank) {
            const auto& tensors = plan->devices[std::size_t(rank)].tensors;
            const LocalTensor& source =
                tensors[std::size_t(exchange.sources[std::size_t(rank)].at(0))];
            QCOMPARE(source.term, rank);
            QCOMPARE(source.dims(), (std::vector<std::int64_t>{6, 10}));
            QCOMPARE(QString::fromStdString(source.name), QString("y.term1"));
            QCOMPARE(QString::fromStdString(
                         tensors[std::size_t(exchange.targets[std::size_t(rank)].at(0))].name),
                     QString("y"));
        }
    }
    void portsSayWhereThingsLie() {
        const auto plan = lowered(megatron());
        QCOMPARE(plan->inputs.size(), std::size_t{1});
        QCOMPARE(plan->outputs.size(), std::size_t{1});
        QCOMPARE(plan->outputs[0].tensors.size(), std::size_t{2});
        QCOMPARE(plan->outputs[0].tensors[1].size(), std::size_t{1});
        QVERIFY(plan->observed.empty());
        QCOMPARE(plan->predictedTotal(CollectiveKind::AllReduce).bytes, 6 * 10 * 4);
        QCOMPARE(plan->predictedTotal(CollectiveKind::Send).count, 0);
    }
    void referenceIsOneSegment() {
        const auto analysis = megatron().analyse();
        const auto plan = lowerUnannotated(*analysis, {{valueNamed(analysis->graph(), "h")}});
        QVERIFY(plan);
        QCOMPARE((*plan)->devices.size(), std::size_t{1});
        QCOMPARE((*plan)->devices[0].segments.size(), std::size_t{1});
        QCOMPARE((*plan)->devices[0].segments[0].nodes.size(), std::size_t{4});
        QCOMPARE((*plan)->observed.size(), std::size_t{1});
        QVERIFY((*plan)->predicted.empty());
    }
    void defaultsOfInputsAreWeightsUnlessAnotherValueIsGiven() {
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {2, 2})
                                       .input("w", {2, 2})
                                       .weight("w", {2, 2})
                                       .op("MatMul", {"x", "w"}, {"y"}, "mm")
                                       .output("y", {2, 2});
        Analyser analyser;
        const auto analysis = analyser.run(model.document(), {});
        QVERIFY(analysis);
        QCOMPARE((*lower(**analysis))->inputs.size(), std::size_t{1});
        AnalysisOptions options;
        options.bindings.given = {"w"};
        const auto given = analyser.run(model.document(), options);
        QVERIFY(given);
        QCOMPARE((*lower(**given))->inputs.size(), std::size_t{2});
    }

    void modelsWithErrorsAreRefused() {
        PlanCase c(
            ModelBuilder().input("x", {4, 6}).op("Softmax", {"x"}, {"y"}, "sm").output("y", {4, 6}),
            "d=2");
        c.shard("x@sm:1=d");
        const auto plan = lower(*c.analyse());
        QVERIFY(!plan);
        QCOMPARE(QString::fromStdString(plan.error().place), QString("sm"));
        QVERIFY(QString::fromStdString(plan.error().message).startsWith("SW"));
    }
    void unknownShapesAreRefusedByName() {
        PlanCase c(ModelBuilder()
                       .input("x", {4, 6})
                       .op("Relu", {"x"}, {"r"}, "relu")
                       .op("NonZero", {"r"}, {"where"}, "nonzero")
                       .output("where", {2, "n"}, onnx::TensorProto::INT64),
                   "d=2");
        c.shard("x@relu:replicated");
        const auto analysis = c.analyse();
        if (analysis->shapes->of(valueNamed(analysis->graph(), "where")).concrete())
            QSKIP("its declared shape was bound");
        const auto plan = lower(*analysis);
        QVERIFY(!plan);
        QVERIFY(plan.error().message.find("`where`") != std::string::npos);
    }

    void tensorsAreCutByTheirElements() {
        const onnx::TensorProto whole =
            intTensor("t", {4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
        const Box box{{IndexSet({{0, 1}, {2, 4}}), IndexSet(1, 3)}};
        const onnx::TensorProto cut = lowering::cutTensor(whole, box, {});
        QCOMPARE(cut.dims(0), 3);
        QCOMPARE(cut.dims(1), 2);
        std::vector<std::int64_t> values(6);
        QCOMPARE(cut.raw_data().size(), sizeof(std::int64_t) * 6);
        std::memcpy(values.data(), cut.raw_data().data(), cut.raw_data().size());
        QCOMPARE(values, (std::vector<std::int64_t>{1, 2, 7, 8, 10, 11}));
    }
    void positionsInAPackedTensor() {
        const IndexSet held({{2, 4}, {8, 10}});
        QCOMPARE(lowering::positionsIn(held, IndexSet(3, 4)), (std::vector<std::int64_t>{1}));
        QCOMPARE(lowering::positionsIn(held, std::vector<std::int64_t>{9, 2}),
                 (std::vector<std::int64_t>{3, 0}));
    }
};

QTEST_GUILESS_MAIN(TstPlanSegments)
#include "tst_plan_segments.moc"
