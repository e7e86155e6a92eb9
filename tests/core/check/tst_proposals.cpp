// SPDX-License-Identifier: Apache-2.0
#include "check/proposals.h"

#include "comm/cost.h"
#include "sharding/shard_text.h"
#include "support/analysed.h"
#include "support/generated_transformer.h"
#include "support/model_builder.h"
#include "support/shared_files.h"

#include <QtTest>

#include <cmath>
#include <set>

using namespace shardwright;
using namespace shardwright::test;

namespace {

Document annotated(Document document, const std::string& mesh,
                   const std::vector<std::string>& shards) {
    const auto shapes = ShapeTable::build(document.model, {});
    LayoutPool pool;
    AnnotateRequest request;
    request.mesh = mesh;
    request.shards = shards;
    const auto outcome = annotate(document, *shapes, request, pool);
    if (!outcome)
        qFatal("%s", outcome.error().text().c_str());
    apply(document.annotations, outcome->edit);
    return document;
}

Document accepted(const Analysis& analysis, const Proposals& proposals) {
    Document document = analysis.document;
    apply(document.annotations, proposals.acceptAll);
    return document;
}

Document sharedModel(const char* name) {
    const auto path = sharedFile(std::string("models/") + name);
    auto document = path ? Document::open(*path) : Result<Document>(Error{"missing", {}});
    return document ? *document : Document{};
}

std::set<std::string> proposedTensors(const Analysis& analysis, const Proposals& proposals) {
    std::set<std::string> names;
    for (const Proposal& p : proposals.proposals)
        names.insert(analysis.graph().value(p.value).name);
    return names;
}

/// a[8,16] by rows and b[8,16] by columns along one axis: no device has both.
Document contradiction() {
    return annotated(ModelBuilder{}
                         .input("a0", {8, 16})
                         .input("b0", {8, 16})
                         .op("Relu", {"a0"}, {"a"}, "left")
                         .op("Relu", {"b0"}, {"b"}, "right")
                         .op("Add", {"a", "b"}, {"c"}, "add")
                         .output("c", {8, 16})
                         .document(),
                     "p=2", {"a@left:0=p", "b@right:1=p"});
}

}  // namespace

class TstProposals : public QObject {
    Q_OBJECT
private slots:
    void aColumnWeightIsEnoughForTheOthers() {
        const Document document = annotated(ModelBuilder{}
                                                .input("x", {8, 16})
                                                .weight("w1", {16, 32})
                                                .weight("b1", {32})
                                                .weight("w2", {32, 16})
                                                .op("Gemm", {"x", "w1", "b1"}, {"h"}, "fc1")
                                                .op("Relu", {"h"}, {"r"}, "relu")
                                                .op("MatMul", {"r", "w2"}, {"y"}, "fc2")
                                                .output("y", {8, 16})
                                                .document(),
                                            "tp=2", {"w1:1=tp"});
        const auto analysis = analysed(document);
        const auto proposals = proposeLayouts(*analysis, {});
        QVERIFY(proposals);
        QCOMPARE(proposedTensors(*analysis, *proposals),
                 (std::set<std::string>{"b1", "h", "r", "w2"}));
        for (const Proposal& p : proposals->proposals) {
            QCOMPARE(p.sources.size(), std::size_t{1});
            QCOMPARE(analysis->graph().label(p.sources[0].annotation.node), std::string("fc1"));
            QVERIFY(p.sources[0].words.starts_with("axis tp is set on `w1` at Gemm `fc1`"));
        }
        const auto after = analysed(accepted(*analysis, *proposals));
        QCOMPARE(errorsOf(*after), std::string());
        QCOMPARE(after->communication.entries.size(), std::size_t{1});
        QCOMPARE(after->communication.entries[0].kind, CollectiveKind::AllReduce);
        QCOMPARE(proposeLayouts(*after, {})->proposals.size(), std::size_t{0});
    }

    void acceptingAllLeavesNoErrors_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QStringList>("shards");
        QTest::newRow("llama, one weight of each pair")
            << "llama_4l_gqa_legacy.onnx"
            << "dp=2,tp=2"
            << QStringList{"#in1@MatMul!*/q_proj/*:1=tp", "#in1@MatMul!*/gate_proj/*:1=tp"};
        QTest::newRow("llama, the input only") << "llama_4l_gqa_legacy.onnx"
                                               << "dp=2" << QStringList{"input_ids:0=dp"};
        QTest::newRow("llama, sequence") << "llama_4l_gqa_legacy.onnx"
                                         << "sp=2" << QStringList{"input_ids:1=sp"};
        QTest::newRow("bert, input and some weights")
            << "bert_4l_dynamo.onnx"
            << "dp=2,tp=2"
            << QStringList{"input_ids:0=dp", "#in1@MatMul!*/self/query/*:1=tp",
                           "#in1@MatMul!*/intermediate/dense/*:1=tp"};
        QTest::newRow("gpt2, the input only") << "gpt2_12l_dynamo.onnx"
                                              << "dp=2" << QStringList{"input_ids:0=dp"};
        QTest::newRow("t5, the input only") << "t5_encdec_legacy.onnx"
                                            << "dp=2" << QStringList{"input_ids:0=dp"};
        QTest::newRow("attention") << "attn_rope_opset23_dynamo.onnx"
                                   << "dp=2,tp=2" << QStringList{"x:0=dp"};
        QTest::newRow("resnet, the image") << "resnet18_w16_dynamo.onnx"
                                           << "dp=2,tp=2" << QStringList{"image:0=dp"};
        QTest::newRow("experts") << "moe_8e_legacy.onnx"
                                 << "dp=2" << QStringList{"x:0=dp"};
    }
    void acceptingAllLeavesNoErrors() {
        QFETCH(QString, model);
        QFETCH(QString, mesh);
        QFETCH(QStringList, shards);
        const Document opened = sharedModel(qPrintable(model));
        SKIP_WITHOUT(opened.model, model);
        std::vector<std::string> options;
        for (const QString& shard : shards)
            options.push_back(shard.toStdString());
        const auto analysis = analysed(annotated(opened, mesh.toStdString(), options));
        for (const PropagationPolicy& policy : propagationPolicies()) {
            PropagationOptions wanted;
            wanted.policy = policy;
            const auto proposals = proposeLayouts(*analysis, wanted);
            QVERIFY(proposals);
            if (policy.name == "report")
                QVERIFY(!proposals->proposals.empty());
            const auto after = analysed(accepted(*analysis, *proposals));
            QVERIFY2(errorsOf(*after).empty(), errorsOf(*after).c_str());
        }
    }

    void acceptingAllLeavesNoErrorsOnAnyModel_data() {
        QTest::addColumn<QString>("path");
        for (const auto& path : sharedModels())
            QTest::newRow(path.filename().c_str()) << QString::fromStdString(path.string());
        if (sharedModels().empty())
            QTest::newRow("none") << QString();
    }
    void acceptingAllLeavesNoErrorsOnAnyModel() {
        QFETCH(QString, path);
        SKIP_WITHOUT(!path.isEmpty(), "models");
        const auto opened = Document::open(path.toStdString());
        QVERIFY(opened);
        // Every input along its first dimension, where that alone has a meaning.
        Document document = *opened;
        const auto shapes = ShapeTable::build(document.model, {});
        for (const ValueId input : document.graph().main().inputs) {
            if (shapes->of(input).dims.empty())
                continue;
            LayoutPool pool;
            AnnotateRequest request;
            request.mesh = "dp=2";
            request.shards = {document.graph().value(input).name + ":0=dp"};
            Document next = document;
            const auto outcome = annotate(next, *shapes, request, pool);
            if (!outcome)
                continue;
            apply(next.annotations, outcome->edit);
            if (analysed(next)->count(Severity::Error) == 0)
                document = next;
        }
        const auto analysis = analysed(document);
        QVERIFY(!analysis->hasConfiguration || errorsOf(*analysis).empty());
        if (!analysis->hasConfiguration)
            QSKIP("no input of this model can be split along its first dimension");
        const auto proposals = proposeLayouts(*analysis, {});
        QVERIFY(proposals);
        const auto after = analysed(accepted(*analysis, *proposals));
        QVERIFY2(errorsOf(*after).empty(), errorsOf(*after).c_str());
        QCOMPARE(proposeLayouts(*after, {})->proposals.size(), std::size_t{0});
    }

    void twoAllReducesALayerFollowFromOneWeightOfEachPair() {
        const Document opened = sharedModel("llama_4l_gqa_legacy.onnx");
        SKIP_WITHOUT(opened.model, "llama_4l_gqa_legacy.onnx");
        const auto analysis = analysed(annotated(
            opened, "tp=2", {"#in1@MatMul!*/q_proj/*:1=tp", "#in1@MatMul!*/gate_proj/*:1=tp"}));
        const auto proposals = proposeLayouts(*analysis, {});
        QVERIFY(proposals);
        const auto after = analysed(accepted(*analysis, *proposals));
        QCOMPARE(after->communication.entries.size(), std::size_t{8});
        for (const CommEntry& entry : after->communication.entries)
            QCOMPARE(entry.kind, CollectiveKind::AllReduce);
    }

    void contradictionsAreReportedWithBothAnnotationsAndPricedFixes() {
        const auto analysis = analysed(contradiction());
        const auto proposals = proposeLayouts(*analysis, {});
        QVERIFY(proposals);
        QCOMPARE(proposals->conflicts.size(), std::size_t{1});
        const PropagationConflict& conflict = proposals->conflicts.front();
        QCOMPARE(analysis->graph().label(conflict.node), std::string("add"));
        QCOMPARE(conflict.message,
                 std::string("axis p splits dimension 0 of `a` and dimension 1 of `b`"));
        QCOMPARE(conflict.sources.size(), std::size_t{2});
        QCOMPARE(analysis->graph().label(conflict.sources[0].annotation.node), std::string("left"));
        QCOMPARE(analysis->graph().label(conflict.sources[1].annotation.node),
                 std::string("right"));
        QVERIFY(!conflict.fixes.empty() && conflict.fixes.size() <= 3);
        for (std::size_t i = 1; i < conflict.fixes.size(); ++i)
            QVERIFY(conflict.fixes[i - 1].bytes <= conflict.fixes[i].bytes);
        for (const ConflictFix& fix : conflict.fixes) {
            Document document = analysis->document;
            apply(document.annotations, fix.edit);
            const auto fixed = analysed(document);
            QCOMPARE(errorsOf(*fixed), std::string());
            // One input is moved, by what the communication view says, too.
            QCOMPARE(fixed->communication.totalBytes, fix.bytes);
        }
        QVERIFY(analysis->count(Severity::Error) > 0);
        QCOMPARE(errorsOf(*analysed(accepted(*analysis, *proposals))), std::string());
    }

    /// a + S/B of what the communication view shows once the fix is applied.
    void fixesArePricedByAHardwareProfile() {
        const auto analysis = analysed(contradiction());
        for (const double latency : {1e-6, 1e-3}) {
            HardwareProfile profile;
            profile.links.push_back({"wire", {}, 0, latency, 1e9, {}});
            const auto proposals = proposeLayouts(*analysis, {}, {}, &profile);
            QVERIFY(proposals && !proposals->conflicts.empty());
            const auto& fixes = proposals->conflicts.front().fixes;
            QVERIFY(!fixes.empty());
            double before = 0;
            for (const ConflictFix& fix : fixes) {
                QVERIFY(fix.seconds && *fix.seconds >= before);
                before = *fix.seconds;
                Document document = analysis->document;
                apply(document.annotations, fix.edit);
                const auto fixed = analysed(document);
                const double expected =
                    costOf(profile, fixed->configuration.mesh, fixed->communication, *fixed->shapes)
                        .seconds;
                QVERIFY(expected > latency);
                QVERIFY2(std::abs(*fix.seconds - expected) < 1e-9 * expected + 1e-15,
                         fix.title.c_str());
            }
            const Json json = proposalsJson(*analysis, *proposals, {});
            QCOMPARE(json["conflicts"][0]["fixes"][0]["seconds"].get<double>(), *fixes[0].seconds);
            QVERIFY(proposalsText(*analysis, *proposals).find(" us\n") != std::string::npos);
        }
        const auto byBytes = proposeLayouts(*analysis, {});
        QVERIFY(!byBytes->conflicts[0].fixes[0].seconds);
        QVERIFY(proposalsJson(*analysis, *byBytes, {})["conflicts"][0]["fixes"][0]["seconds"]
                    .is_null());
    }

    void annotationsThatContradictEachOtherStayForThePersonToMend() {
        Document document = contradiction();
        document = annotated(document, "p=2", {"a@add:0=p", "b@add:1=p"});
        const auto analysis = analysed(document);
        const auto proposals = proposeLayouts(*analysis, {});
        QVERIFY(proposals);
        QVERIFY(!proposals->conflicts.empty());
        for (const Proposal& p : proposals->proposals)
            QVERIFY(analysis->graph().label(p.slot.node) != "add" || p.slot.output);
    }

    void whatABodyReadsIsNoPlaceForASpec() {
        // Both lie otherwise than the other branch wants, and no spec of the If can say how it
        // reads them.
        const auto branch = [](const char* op, const char* in) {
            return ModelBuilder{}.op(op, {in}, {"out"}).output("out").graph();
        };
        Document document =
            ModelBuilder{}
                .input("c", {}, onnx::TensorProto::BOOL)
                .input("a0", {8, 16})
                .input("b0", {8, 16})
                .op("Relu", {"a0"}, {"a"}, "left")
                .op("Relu", {"b0"}, {"b"}, "right")
                .op("If", {"c"}, {"y"}, "call",
                    {{"then_branch", branch("Neg", "a")}, {"else_branch", branch("Abs", "b")}})
                .output("y", {8, 16})
                .document();
        document = annotated(document, "p=2", {"a@left:0=p", "b@right:1=p"});
        const auto analysis = analysed(document);
        const auto proposals = proposeLayouts(*analysis, {});
        QVERIFY(proposals);
        QCOMPARE(proposals->conflicts.size(), std::size_t(1));
        QCOMPARE(proposals->conflicts[0].sources.size(), std::size_t(2));
        QVERIFY2(proposals->conflicts[0].message.find("`b`") != std::string::npos,
                 proposals->conflicts[0].message.c_str());
        for (const Proposal& p : proposals->proposals)
            QVERIFY(p.value);
        QCOMPARE(errorsOf(*analysed(accepted(*analysis, *proposals))), errorsOf(*analysis));
        // In agreement, the result follows.
        document = annotated(document, "p=2", {"b@right:0=p"});
        const auto agreed = analysed(document);
        const auto more = proposeLayouts(*agreed, {});
        QVERIFY(more);
        QVERIFY(more->conflicts.empty());
        QVERIFY(proposedTensors(*agreed, *more).count("y") == 1);
    }

    void someOfThemAreAcceptedAlone() {
        const Document document = annotated(ModelBuilder{}
                                                .input("x", {8, 16})
                                                .weight("w1", {16, 32})
                                                .weight("b1", {32})
                                                .op("Gemm", {"x", "w1", "b1"}, {"h"}, "fc1")
                                                .op("Relu", {"h"}, {"r"}, "relu")
                                                .output("r", {8, 32})
                                                .document(),
                                            "tp=2", {"w1:1=tp"});
        const auto analysis = analysed(document);
        const auto proposals = proposeLayouts(*analysis, {});
        QVERIFY(proposals);
        QCOMPARE(proposedTensors(*analysis, *proposals), (std::set<std::string>{"b1", "h", "r"}));
        // Two tensors of one node, of which one is taken; what the node says already stays.
        std::size_t bias = 0;
        while (analysis->graph().value(proposals->proposals[bias].value).name != "b1")
            ++bias;
        const std::size_t which[] = {bias};
        const Edit edit = acceptProposals(*analysis, *proposals, which);
        QCOMPARE(edit.title, std::string("Accept 1 layout"));
        Document after = document;
        const Edit back = apply(after.annotations, edit);
        const NodeId fc1 = nodeNamed(document.graph(), "fc1");
        const auto specs = analysed(after)->annotations.nodes[fc1.index()];
        QCOMPARE(specs->specs.size(), std::size_t{2});
        QVERIFY(specs->find("w1") && specs->find("b1"));
        QCOMPARE(*specs->find("b1")->layout, *proposals->proposals[bias].layout);
        // The others are proposed still.
        const auto rest = analysed(after);
        QCOMPARE(proposedTensors(*rest, *proposeLayouts(*rest, {})),
                 (std::set<std::string>{"h", "r"}));
        apply(after.annotations, back);
        QVERIFY(after.annotations.sameAs(document.annotations));
        QVERIFY(acceptProposals(*analysis, *proposals, {}).empty());
    }

    void prioritiesNameAxes() {
        const Mesh mesh = *Mesh::parse("dp=2,tp=4");
        QCOMPARE(*parseAxisPriorities(mesh, {"tp=1"}), (std::vector<int>{0, 1}));
        QVERIFY(parseAxisPriorities(mesh, {})->empty());
        for (const char* wrong : {"pp=1", "tp", "tp=x", "tp=", "tp=-1", "tp=1001"})
            QVERIFY2(!parseAxisPriorities(mesh, {wrong}), wrong);
        QVERIFY(!parseAxisPriorities(mesh, {"tp=1", "tp=2"}));
    }

    void withoutConfigurationThereIsNothingToPropose() {
        const auto analysis = analysed(
            ModelBuilder{}.input("a", {8}).op("Relu", {"a"}, {"b"}).output("b", {8}).document());
        QVERIFY(!proposeLayouts(*analysis, {}));
    }

    void jsonSaysWhatTheTextSays() {
        const auto analysis = analysed(contradiction());
        const PropagationOptions options;
        const auto proposals = proposeLayouts(*analysis, options);
        const Json json = proposalsJson(*analysis, *proposals, options);
        QCOMPARE(json["policy"].get<std::string>(), std::string("report"));
        QCOMPARE(json["proposals"].size(), proposals->proposals.size());
        QCOMPARE(json["conflicts"].size(), std::size_t{1});
        QCOMPARE(json["conflicts"][0]["fixes"].size(), proposals->conflicts[0].fixes.size());
        for (const Json& p : json["proposals"]) {
            QVERIFY(p["node"].contains("name") && p["tensor"].is_string() &&
                    p["layout"]["dims"].is_array());
            QVERIFY(!p["sources"].empty() && p["sources"][0]["words"].is_string());
        }
        const std::string text = proposalsText(*analysis, *proposals);
        QVERIFY(text.find("conflict at Add `add`") != std::string::npos);
        QVERIFY(text.ends_with("1 conflict\n"));
    }
};

QTEST_GUILESS_MAIN(TstProposals)
#include "tst_proposals.moc"
