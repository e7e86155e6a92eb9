// SPDX-License-Identifier: Apache-2.0
#include "plan_case.h"

#include <map>
#include <set>

using namespace shardwright;
using namespace shardwright::test;

namespace {

using Found = std::map<std::string, std::set<double>>;

/// Seeds of nodes by the name of their first output, of nodes in bodies and functions, too. -1:
/// none.
void findSeeds(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, Found& found) {
    for (const onnx::NodeProto& node : nodes) {
        double seed = -1;
        for (const onnx::AttributeProto& attribute : node.attribute()) {
            if (attribute.name() == "seed")
                seed = attribute.has_f() ? static_cast<double>(attribute.f())
                                         : static_cast<double>(attribute.i());
            if (attribute.has_g())
                findSeeds(attribute.g().node(), found);
        }
        if (node.output_size() > 0)
            found[node.output(0)].insert(seed);
    }
}

Found seedsOf(const Plan& plan) {
    Found found;
    for (const DeviceProgram& program : plan.devices)
        for (const Segment& segment : program.segments) {
            onnx::ModelProto model;
            if (!model.ParseFromString(segment.modelBytes))
                qFatal("not a model");
            findSeeds(model.graph().node(), found);
            for (const onnx::FunctionProto& function : model.functions())
                findSeeds(function.node(), found);
        }
    return found;
}

ModelBuilder drawing(int opset = 21) {
    const auto then =
        ModelBuilder().op("RandomUniformLike", {"a"}, {"t"}).output("t").graph("then");
    const auto otherwise = ModelBuilder().op("Relu", {"a"}, {"e"}).output("e").graph("else");
    const auto noisy = ModelBuilder(opset)
                           .input("fx", {4, 8})
                           .op("RandomNormalLike", {"fx"}, {"fn"})
                           .op("Add", {"fx", "fn"}, {"fy"})
                           .output("fy", {4, 8});
    return ModelBuilder(opset)
        .opset("own", 1)
        .function("own", "Noisy", noisy)
        .input("x", {4, 8})
        .input("c", {}, onnx::TensorProto::BOOL)
        .weight("w", {8, 8})
        .op("MatMul", {"x", "w"}, {"a"}, "mm")
        .op("RandomNormalLike", {"a"}, {"n"}, "normal")
        .op("RandomNormalLike", {"a"}, {"own_seed"}, "owned", {{"seed", 7.0f}})
        .op("Dropout", {"n"}, {"d"}, "drop")
        .op("If", {"c"}, {"i"}, "if", {{"then_branch", then}, {"else_branch", otherwise}})
        .op("Noisy", {"d"}, {"f"}, "noisy", {}, "own")
        .op("Sum", {"own_seed", "i", "f"}, {"y"}, "sum")
        .output("y", {4, 8});
}

}  // namespace

/// Nodes that draw random numbers get one seed for all devices.
class TstSeeds : public QObject {
    Q_OBJECT

private slots:
    void allDevicesAndTheReferenceHaveTheSame() {
        const auto analysis = PlanCase(drawing(), "tp=2").shard("w@mm:0=tp").analyse();
        const auto plan = lower(*analysis), whole = lowerUnannotated(*analysis);
        QVERIFY2(plan && whole, plan ? "" : plan.error().text().c_str());
        const Found seeds = seedsOf(**plan), reference = seedsOf(**whole);
        std::set<double> different;
        for (const char* name : {"n", "d", "t", "fn"}) {
            QVERIFY2(seeds.count(name) == 1 && reference.count(name) == 1, name);
            QCOMPARE(seeds.at(name).size(), std::size_t{1});
            QVERIFY(seeds.at(name) == reference.at(name));
            QVERIFY(*seeds.at(name).begin() > 0);
            different.insert(*seeds.at(name).begin());
        }
        QCOMPARE(different.size(), std::size_t{4});
        QVERIFY(seeds.at("own_seed") == std::set<double>{7});
        QVERIFY(seeds.at("y") == std::set<double>{-1});
    }

    void anotherSeedOfTheRunIsAnotherOfTheNode() {
        const auto analysis = PlanCase(drawing(), "tp=2").shard("w@mm:0=tp").analyse();
        const auto one = lower(*analysis, PlanOptions{{}, 1}),
                   two = lower(*analysis, PlanOptions{{}, 2});
        QVERIFY(one && two);
        QVERIFY(seedsOf(**one).at("n") != seedsOf(**two).at("n"));
        QVERIFY(seedsOf(**one).at("own_seed") == seedsOf(**two).at("own_seed"));
    }

    /// Dropout has the attribute since opset 12.
    void whatTheOpsetDoesNotKnowIsNotWritten() {
        ModelBuilder model(10);
        model.input("x", {4, 8})
            .weight("w", {8, 8})
            .op("MatMul", {"x", "w"}, {"a"}, "mm")
            .op("Dropout", {"a"}, {"y"}, "drop")
            .output("y", {4, 8});
        PlanCase c(model, "tp=2");
        const auto plan = lower(*c.shard("w@mm:0=tp").analyse());
        QVERIFY(plan);
        QVERIFY(seedsOf(**plan).at("y") == std::set<double>{-1});
    }
};

QTEST_GUILESS_MAIN(TstSeeds)
#include "tst_seeds.moc"
