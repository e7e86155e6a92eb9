// SPDX-License-Identifier: Apache-2.0
#include "check/portable_annotations.h"

#include "check/assign.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/generated_transformer.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

Document model(int layers, std::int64_t hidden = 64) {
    TransformerSizes sizes;
    sizes.layers = layers;
    sizes.hidden = hidden;
    sizes.external = true;
    return transformer(sizes).document();
}

void put(Document& document, const std::string& mesh, const std::vector<std::string>& shards,
         const std::vector<std::string>& stages = {}) {
    LayoutPool pool;
    const AnnotateRequest request{"", mesh, shards, stages, {}};
    const auto outcome = annotate(document, *ShapeTable::build(document.model, {}), request, pool);
    if (!outcome)
        qFatal("%s", outcome.error().text().c_str());
    apply(document.annotations, outcome->edit);
}

PortableAnnotations exported(const Document& document) {
    return exportAnnotations(*Analyser().run(document, {}).value());
}

ApplyOutcome applied(Document& document, const PortableAnnotations& annotations) {
    LayoutPool pool;
    const auto outcome =
        applyAnnotations(document, *ShapeTable::build(document.model, {}), annotations, pool);
    if (!outcome)
        qFatal("%s", outcome.error().text().c_str());
    apply(document.annotations, outcome->edit);
    return *outcome;
}

/// What the annotations say, whatever their text.
Json meaningOf(const Document& document) {
    return inferJson(*Analyser().run(document, {}).value());
}

PortableAnnotations throughText(const PortableAnnotations& annotations) {
    const auto again = PortableAnnotations::fromJson(annotations.toJson().dump());
    if (!again)
        qFatal("%s", again.error().text().c_str());
    return *again;
}

}  // namespace

class TstPortableAnnotations : public QObject {
    Q_OBJECT
private slots:
    void repeatedLayersShareTheirRules() {
        Document document = model(12);
        put(document, "tp=2", megatronShards("tp"));
        const PortableAnnotations annotations = exported(document);
        QCOMPARE(annotations.shards.size(), std::size_t(7));
        QCOMPARE(annotations.mesh, std::string("tp=2"));
        Document again = model(12);
        const ApplyOutcome outcome = applied(again, throughText(annotations));
        QCOMPARE(outcome.unmatched(), 0);
        QCOMPARE(outcome.rules[0].specs, 12);
        QVERIFY(meaningOf(again) == meaningOf(document));
    }

    void aModelWithMoreLayersAndOtherSizesTakesThem() {
        Document small = model(2);
        put(small, "tp=2", megatronShards("tp"));
        Document large = model(15, 128), byHand = large;
        applied(large, exported(small));
        put(byHand, "tp=2", megatronShards("tp"));
        QVERIFY(meaningOf(large) == meaningOf(byHand));
    }

    void aLayerThatDiffersKeepsItsOwnRule() {
        Document document = model(12);
        put(document, "tp=2", megatronShards("tp"));
        put(document, "", {"#in1@MatMul!model/layers.3/mlp/down_proj/MatMul:1=tp"});
        const PortableAnnotations annotations = exported(document);
        Document again = model(12);
        applied(again, annotations);
        QVERIFY(meaningOf(again) == meaningOf(document));
    }

    void stagesPartsOfADimensionAndReplicatedComeBack() {
        Document document = model(4);
        put(document, "pp=2,tp=2",
            {"#in1@MatMul!*/q_proj/*:1=2*32/tp", "#in0@MatMul!*lm_head/*:replicated",
             "#in1@MatMul!*/up_proj/*:1=tp"},
            {"*layers.0/*=0", "*layers.1/*=0", "*layers.2/*=1", "*layers.3/*=1"});
        Document again = model(4);
        const ApplyOutcome outcome = applied(again, throughText(exported(document)));
        QCOMPARE(outcome.unmatched(), 0);
        QVERIFY(meaningOf(again) == meaningOf(document));
    }

    void layoutsThatNoMeshSaysComeBack() {
        Document document = model(1);
        put(document, "tp=4", {"#in1@MatMul!*/q_proj/*:1=tp"});
        const NodeId node = nodeNamed(document.graph(), "model/layers.0/mlp/up_proj/MatMul");
        const std::string weight = "model/layers.0/mlp/up_proj.weight";
        TensorInfo info;
        info.kind = TensorInfo::Kind::Tensor;
        info.hasRank = true;
        info.elementType = onnx::TensorProto::FLOAT;
        info.dims = {64, 128};
        const Layout irregular({64, 128}, {{{64, 1}}, {{128, 3}}}, {{0}, {1, 2}, {3}});
        apply(document.annotations, editSpec(document, node, "default", weight, &irregular, info));
        const PortableAnnotations annotations = throughText(exported(document));
        QCOMPARE(annotations.specs.size(), std::size_t(1));
        Document again = model(1);
        QCOMPARE(applied(again, annotations).unmatched(), 0);
        QVERIFY(meaningOf(again) == meaningOf(document));
        Document other = model(1, 128);
        const ApplyOutcome refused = applied(other, annotations);
        QCOMPARE(refused.unmatched(), 1);
        QCOMPARE(refused.rules.back().problem,
                 std::string("dimension 0 has size 128, the spec 64"));
    }

    void aRuleThatMatchesNothingNamesWhatIsNearAndLeavesTheOthers() {
        Document document = model(2);
        put(document, "tp=2", megatronShards("tp"));
        PortableAnnotations annotations = exported(document);
        annotations.shards.insert(annotations.shards.begin(),
                                  "#in1@MatMul!*/layers.0/self_attn/q_porj/MatMul:1=tp");
        Document again = model(2);
        const ApplyOutcome outcome = applied(again, annotations);
        QCOMPARE(outcome.unmatched(), 1);
        QVERIFY2(outcome.rules[0].problem.find("q_proj") != std::string::npos,
                 outcome.rules[0].problem.c_str());
        QVERIFY(meaningOf(again) == meaningOf(document));
    }

    void namesWithWildcardsAreNotWildcards() {
        Document document = ModelBuilder{}
                                .input("x", {8, 8})
                                .op("Relu", {"x"}, {"a"}, "n*1")
                                .op("Relu", {"a"}, {"b"}, "n@2:=!\\?")
                                .output("b", {8, 8})
                                .document();
        Document plain = document;
        put(document, "tp=2", {"x:0=tp", "b:1=tp"});
        QCOMPARE(applied(plain, throughText(exported(document))).unmatched(), 0);
        QVERIFY(meaningOf(plain) == meaningOf(document));
    }

    void aFileThatDoesNotFitTheSchemaSaysWhere_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        const QString head = R"({"format": "shardwright-annotations", "version": 1, )";
        QTest::newRow("no JSON") << "{"
                                 << "this is not JSON: line 1, column 2";
        QTest::newRow("nothing") << ""
                                 << "this is not JSON: line 1, column 1";
        QTest::newRow("a comma too many") << "{\n  \"version\": 1,\n}"
                                          << "this is not JSON: line 3, column 1";
        QTest::newRow("a number beyond all numbers") << "1e9999"
                                                     << "this is not JSON: a number is too large";
        QTest::newRow("a list") << "[]"
                                << "this is not a JSON object";
        QTest::newRow("another format") << R"({"format": "x"})"
                                        << R"(`format` must be "shardwright-annotations")";
        QTest::newRow("a newer version") << R"({"format": "shardwright-annotations", "version": 2})"
                                         << "`version` must be 1";
        QTest::newRow("no configuration") << head + R"("mesh": "tp=2"})"
                                          << "configuration must be the name of a configuration";
        QTest::newRow("a number among texts")
            << head + R"("configuration": "c", "shards": ["a:0=tp", 7]})"
            << "shards[1] must be a text";
        QTest::newRow("texts that are no list")
            << head + R"("configuration": "c", "stages": "x=1"})"
            << "stages must be a list";
        QTest::newRow("an unknown member") << head + R"("configuration": "c", "shard": []})"
                                           << "shard is not a member that this version knows";
        QTest::newRow("a negative device")
            << head + R"("configuration": "c", "specs": [{"tensor": "x", "node": "n",
                  "dims": [[]], "groups": [[-1]]}]})"
            << "specs[0].groups[0] must have device numbers";
        QTest::newRow("a size of nought")
            << head + R"("configuration": "c", "specs": [{"tensor": "x", "node": "n",
                  "dims": [[{"size": 0, "shards": 1}]], "groups": []}]})"
            << "specs[0].dims[0] must have objects of a size and a number of shards";
    }
    void aFileThatDoesNotFitTheSchemaSaysWhere() {
        QFETCH(QString, text);
        QFETCH(QString, message);
        const auto result = PortableAnnotations::fromJson(text.toStdString());
        QVERIFY(!result);
        QCOMPARE(QString::fromStdString(result.error().message), message);
    }

    void anotherNumberOfDevicesIsRefusedAsAWhole() {
        Document document = model(1);
        put(document, "tp=2", megatronShards("tp"));
        Document other = model(1);
        put(other, "tp=4", {});
        LayoutPool pool;
        const auto outcome =
            applyAnnotations(other, *ShapeTable::build(other.model, {}), exported(document), pool);
        QVERIFY(!outcome);
        QVERIFY2(outcome.error().message.find("has 4 devices, the mesh has 2") != std::string::npos,
                 outcome.error().message.c_str());
    }
};

QTEST_GUILESS_MAIN(TstPortableAnnotations)
#include "tst_portable_annotations.moc"
