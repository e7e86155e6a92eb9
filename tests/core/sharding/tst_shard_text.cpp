// SPDX-License-Identifier: Apache-2.0
#include "sharding/shard_text.h"

#include "support/model_builder.h"

#include <QtTest/QTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// Two decoder layers with exporter names, a node without a name, and a body that uses an outer
/// tensor.
ModelBuilder decoder() {
    ModelBuilder body;
    body.op("MatMul", {"h1", "onnx::MatMul_12"}, {"b"}, "inner").output("b", {"batch", 8});
    ModelBuilder other;
    other.op("Identity", {"h1"}, {"o"}, "same").output("o", {"batch", 8});
    return ModelBuilder{}
        .irVersion(11)
        .input("x", {"batch", 8})
        .input("p", {}, onnx::TensorProto::BOOL)
        .weight("onnx::MatMul_11", {8, 24})
        .weight("onnx::MatMul_12", {8, 8})
        .weight("w:0", {24, 8})
        .op("MatMul", {"x", "onnx::MatMul_11"}, {"h0"}, "/model/layers.0/query/MatMul")
        .op("MatMul", {"h0", "w:0"}, {"h1"}, "/model/layers.1/query/MatMul")
        .op("Relu", {"h1"}, {"r"})
        .op("If", {"p"}, {"c"}, "choice",
            {{"then_branch", body.graph()}, {"else_branch", other.graph()}})
        .op("Add", {"r", "c"}, {"y"}, "add")
        .output("y", {"batch", 8});
}

struct Opened {
    Document document;
    std::shared_ptr<const ShapeTable> shapes;
    LayoutPool pool;

    explicit Opened(const ModelBuilder& builder = decoder(), Bindings bindings = {})
        : document(builder.document()),
          shapes(ShapeTable::build(document.model, std::move(bindings))) {}

    Result<AnnotateOutcome> run(AnnotateRequest request) {
        auto outcome = annotate(document, *shapes, request, pool);
        if (outcome)
            apply(document.annotations, outcome->edit);
        return outcome;
    }
    Configuration configuration(const std::string& name = "default") {
        auto found = findConfiguration(document, *shapes, name, pool);
        assert(found);
        return *found;
    }
    /// "[·, tp]" and so on; empty: no spec.
    QString layoutAt(const std::string& node, const std::string& tensor,
                     const std::string& name = "default") {
        std::vector<Diagnostic> diagnostics;
        const Configuration c = configuration(name);
        const auto specs =
            decodeNode(document, nodeNamed(document.graph(), node), *shapes, c, pool, diagnostics);
        const DecodedSpec* spec = specs ? specs->find(tensor) : nullptr;
        return spec && spec->layout ? QString::fromStdString(shortText(*spec->layout, c.mesh))
                                    : QString();
    }
};

AnnotateRequest request(std::vector<std::string> shards, std::string mesh = "dp=2,tp=4") {
    return {{}, std::move(mesh), std::move(shards), {}, {}};
}

QString errorOf(const Result<AnnotateOutcome>& result) {
    return result ? QString("no error") : QString::fromStdString(result.error().text());
}

const std::string kFirst = "/model/layers.0/query/MatMul";
const std::string kSecond = "/model/layers.1/query/MatMul";

}  // namespace

Q_DECLARE_METATYPE(AnnotateRequest)

class TstShardText : public QObject {
    Q_OBJECT

private slots:
    void globsMatch_data();
    void globsMatch();
    void aGlobOfManyStarsIsFast();
    void nodesMatchByNameScopeAndOperator();
    void optionsAreParsed();
    void badOptionsAreRefused_data();
    void badOptionsAreRefused();
    void anOptionAppliesToEveryNodeThatHasTheTensor();
    void slotsAndOperatorsSelect();
    void partsOfADimension();
    void replicatedIsOnAllDevicesOfTheNode();
    void aLaterOptionWinsWithAWarning();
    void nothingElseIsTouched();
    void theConfigurationIsChosenAsDocumented();
    void stagesAndTheirDevices();
    void symbolsStayInTheSpec();
    void whatCannotBeDoneIsSaid_data();
    void whatCannotBeDoneIsSaid();
    void layoutsAreDescribed();
    void partsOfAxesAreShown();
};

void TstShardText::globsMatch_data() {
    QTest::addColumn<QString>("pattern");
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("matches");
    const auto row = [](const char* pattern, const char* text, bool matches) {
        QTest::addRow("%s %s", pattern, text) << pattern << text << matches;
    };
    row("", "", true);
    row("", "a", false);
    row("*", "", true);
    row("a*c", "abbc", true);
    row("a*c", "abbcd", false);
    row("a?c", "abc", true);
    row("a?c", "ac", false);
    row("?", "ä", true);
    row("*b*b*", "abcb", true);
    row("\\*", "*", true);
    row("\\*", "a", false);
    row("a\\?b", "a?b", true);
    row("w\\:0", "w:0", true);
    row("a\\", "a\\", true);
    row("model/*", "model/layers.0/x", true);
}

void TstShardText::globsMatch() {
    QFETCH(QString, pattern);
    QFETCH(QString, text);
    QFETCH(bool, matches);
    QCOMPARE(globMatches(pattern.toStdString(), text.toStdString()), matches);
}

void TstShardText::aGlobOfManyStarsIsFast() {
    std::string pattern;
    for (int i = 0; i < 50; ++i)
        pattern += "a*";
    QVERIFY(!globMatches(pattern + "b", std::string(20000, 'a')));
}

void TstShardText::nodesMatchByNameScopeAndOperator() {
    const Opened opened;
    const GraphIndex& graph = opened.document.graph();
    const NodeId first = nodeNamed(graph, kFirst);
    QVERIFY(nodeMatches("*", graph, first));
    QVERIFY(nodeMatches("/model/layers.0/query/MatMul", graph, first));
    QVERIFY(nodeMatches("model/layers.0/query/MatMul", graph, first));
    QVERIFY(nodeMatches("MatMul!*layers.0*", graph, first));
    QVERIFY(!nodeMatches("Gemm!*layers.0*", graph, first));
    QVERIFY(!nodeMatches("MatMul!*layers.1*", graph, first));
    QVERIFY(nodeMatches("Relu#2", graph, nodeNamed(graph, "r")));
    QVERIFY(nodeMatches("Relu!*", graph, nodeNamed(graph, "r")));
}

void TstShardText::optionsAreParsed() {
    const auto full = ShardOption::parse("#in1@MatMul!*query*:1=3*tp,-2=64/dp+tp*16");
    QVERIFY(full);
    QCOMPARE(full->tensor, std::string("#in1"));
    QCOMPARE(full->node, std::string("MatMul!*query*"));
    QCOMPARE(full->dims.size(), std::size_t(2));
    QCOMPARE(full->dims[0].dim, 1);
    QCOMPARE(*full->dims[0].components[0].size, std::int64_t(3));
    QVERIFY(full->dims[0].components[0].axes.empty());
    QVERIFY(!full->dims[0].components[1].size);
    QCOMPARE(full->dims[1].dim, -2);
    QCOMPARE(full->dims[1].components[0].axes, (std::vector<std::string>{"dp", "tp"}));
    QCOMPARE(*full->dims[1].components[0].size, std::int64_t(64));
    // The last of each separator counts; escaped ones do not.
    const auto names = ShardOption::parse("onnx::MatMul_1:0=tp");
    QCOMPARE(names->tensor, std::string("onnx::MatMul_1"));
    const auto escaped = ShardOption::parse("a\\@b\\:c@n\\:1:replicated");
    QCOMPARE(escaped->tensor, std::string("a\\@b\\:c"));
    QCOMPARE(escaped->node, std::string("n\\:1"));
    QVERIFY(escaped->replicated);
    QCOMPARE(ShardOption::parse("a@b@c:0=x")->tensor, std::string("a@b"));
    QCOMPARE(ShardOption::parse("\\#in1:0=x")->tensor, std::string("\\#in1"));
}

void TstShardText::badOptionsAreRefused_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("reason");
    const auto row = [](const char* text, const char* reason) {
        QTest::addRow("%s", text) << text << reason;
    };
    row("x", "the form is TENSOR[@NODE]:");
    row(":0=tp", "the tensor is missing");
    row("x@:0=tp", "node after '@' is missing");
    row("x:", "'' is not DIM=COMPONENT");
    row("onnx::MatMul_1", "'MatMul_1' is not DIM=COMPONENT");
    row("x:a=tp", "'a' is not the number of a dimension");
    row("x:0=", "'' in '' is not an axis name");
    row("x:0=tp*dp", "2 parts without a size");
    row("x:0=0/tp", "'0' in '0/tp' is not a size");
    row("x:0=4/", "'' in '4/' is not an axis name");
    row("x:0=4x", "'4x' in '4x' is not a size");
    row("x:0=t-p", "'t-p' in 't-p' is not an axis name");
    row("x:0=tp,0=dp", "dimension 0 is given twice");
    row("#in:0=tp", "'#in' is not a slot");
    row("#mid1:0=tp", "'#mid1' is not a slot");
    row("#in-1:0=tp", "'#in-1' is not a slot");
}

void TstShardText::badOptionsAreRefused() {
    QFETCH(QString, text);
    QFETCH(QString, reason);
    const auto option = ShardOption::parse(text.toStdString());
    QVERIFY(!option);
    QVERIFY2(option.error().message.find(reason.toStdString()) != std::string::npos,
             option.error().message.c_str());
    QVERIFY(option.error().place.starts_with("--shard '"));
}

void TstShardText::anOptionAppliesToEveryNodeThatHasTheTensor() {
    Opened opened;
    const auto outcome = opened.run(request({"h1:1=tp", "onnx::*_12:0=tp"}));
    QVERIFY2(outcome, qPrintable(errorOf(outcome)));
    // The writer, the Relu, the nodes of both bodies; the weight in the body.
    QCOMPARE(outcome->specs, 5);
    for (const char* node : {kSecond.c_str(), "r", "inner", "same"})
        QCOMPARE(opened.layoutAt(node, "h1"), QString("[·, tp]"));
    QCOMPARE(opened.layoutAt("inner", "onnx::MatMul_12"), QString("[tp, ·]"));
    QCOMPARE(opened.layoutAt("choice", "c"), QString());
}

void TstShardText::slotsAndOperatorsSelect() {
    Opened opened;
    const auto outcome = opened.run(request({"#in1@MatMul!*query*:-1=tp", "#out0@Relu!*:0=dp"}));
    QVERIFY2(outcome, qPrintable(errorOf(outcome)));
    QCOMPARE(outcome->specs, 3);
    QCOMPARE(opened.layoutAt(kFirst, "onnx::MatMul_11"), QString("[·, tp]"));
    QCOMPARE(opened.layoutAt(kSecond, "w:0"), QString("[·, tp]"));
    QCOMPARE(opened.layoutAt("inner", "onnx::MatMul_12"), QString());
    QCOMPARE(opened.layoutAt("r", "r"), QString("[dp, ·]"));
}

void TstShardText::partsOfADimension() {
    Opened opened;
    const auto outcome = opened.run(request({"onnx::MatMul_11:1=3*tp", "w\\:0:0=12/tp*2,1=dp"}));
    QVERIFY2(outcome, qPrintable(errorOf(outcome)));
    QCOMPARE(opened.layoutAt(kFirst, "onnx::MatMul_11"), QString("[·, 3*tp]"));
    // Twelve in four, each of two: 24 in four.
    QCOMPARE(opened.layoutAt(kSecond, "w:0"), QString("[tp, dp]"));
}

void TstShardText::replicatedIsOnAllDevicesOfTheNode() {
    Opened opened;
    AnnotateRequest wanted = request({"h1:replicated"}, "pp=2,tp=4");
    wanted.stages = {"*layers.1*=1"};
    const auto outcome = opened.run(wanted);
    QVERIFY2(outcome, qPrintable(errorOf(outcome)));
    QCOMPARE(opened.layoutAt(kSecond, "h1"), QString("devices 4-7"));
    QCOMPARE(opened.layoutAt("r", "h1"), QString("replicated"));
}

void TstShardText::aLaterOptionWinsWithAWarning() {
    Opened opened;
    const auto outcome = opened.run(request({"h1:1=tp", "h1@Relu!*:0=dp"}));
    QVERIFY2(outcome, qPrintable(errorOf(outcome)));
    QCOMPARE(outcome->specs, 4);
    QCOMPARE(opened.layoutAt("r", "h1"), QString("[dp, ·]"));
    QCOMPARE(opened.layoutAt("same", "h1"), QString("[·, tp]"));
    QCOMPARE(outcome->warnings.size(), std::size_t(1));
    QCOMPARE(QString::fromStdString(outcome->warnings[0]),
             QString("--shard 'h1@Relu!*:0=dp' replaces --shard 'h1:1=tp' for 'h1' at 'Relu#2'"));
}

void TstShardText::nothingElseIsTouched() {
    Opened opened;
    QVERIFY(opened.run(request({"h1:1=tp", "h0:0=dp"})));
    const Annotations before = opened.document.annotations;
    QVERIFY(opened.run(request({"onnx::MatMul_11:0=tp"}, "")));
    const NodeAnnotation& first =
        *opened.document.annotations.nodes[nodeNamed(opened.document.graph(), kFirst).index()];
    QCOMPARE(first[0].sharding_spec_size(), 2);
    const NodeId second = nodeNamed(opened.document.graph(), kSecond);
    QVERIFY(before.nodes[second.index()] == opened.document.annotations.nodes[second.index()]);
    QVERIFY(before.metadata == opened.document.annotations.metadata);
    // The same once more changes nothing at all.
    const auto again = opened.run(request({"onnx::MatMul_11:0=tp"}, ""));
    QVERIFY(again && again->edit.empty());
}

void TstShardText::theConfigurationIsChosenAsDocumented() {
    Opened none;
    QVERIFY(none.run(request({"h1:1=tp"})));
    QCOMPARE(configurationNames(none.document.annotations), (std::vector<std::string>{"default"}));

    Opened one(decoder().configuration("gpus", 8));
    QVERIFY(one.run(request({"h1:1=tp"})));
    QCOMPARE(configurationNames(one.document.annotations), (std::vector<std::string>{"gpus"}));
    QCOMPARE(one.layoutAt("r", "h1", "gpus"), QString("[·, tp]"));

    Opened two(decoder().configuration("a", 8).configuration("b", 4));
    QVERIFY(!two.run(request({"h1:1=tp"}, "")));
    AnnotateRequest named = request({"h1:1=tp"}, "tp=4");
    named.configuration = "b";
    QVERIFY(two.run(named));
    QCOMPARE(two.layoutAt("r", "h1", "b"), QString("[·, tp]"));
}

void TstShardText::stagesAndTheirDevices() {
    Opened opened;
    AnnotateRequest wanted = request({"h1:1=tp"});
    wanted.stages = {"*=0", "Relu!*=1", "add=2"};
    wanted.stageDevices = {"0=0-3", "1=4-7"};
    const auto outcome = opened.run(wanted);
    QVERIFY2(outcome, qPrintable(errorOf(outcome)));
    QCOMPARE(opened.layoutAt(kSecond, "h1"), QString("[·, tp] on 0-3"));
    QCOMPARE(opened.layoutAt("r", "h1"), QString("[·, tp] on 4-7"));
    QVERIFY(outcome->warnings.size() >= 2);
    QCOMPARE(QString::fromStdString(outcome->warnings[0]),
             QString("--stage 'Relu!*=1' replaces --stage '*=0' at 'Relu#2'"));

    AnnotateRequest back = request({}, "");
    back.stages = {"add=0"};
    const auto decreased = opened.run(back);
    QVERIFY(decreased);
    QVERIFY(decreased->warnings.size() == 1 &&
            decreased->warnings[0].starts_with("SW402 at 'add'"));
}

void TstShardText::symbolsStayInTheSpec() {
    Opened opened(decoder(), Bindings{{{"batch", 6}}, 8});
    QVERIFY(opened.run(request({"x:0=dp"})));
    const NodeId first = nodeNamed(opened.document.graph(), kFirst);
    const auto& spec = (*opened.document.annotations.nodes[first.index()])[0].sharding_spec(0);
    QCOMPARE(spec.sharded_dim(0).simple_sharding(0).dim_param(), std::string("batch"));

    // Nothing known of the size: none is written.
    Opened open(ModelBuilder{}
                    .irVersion(11)
                    .inputOfUnknownShape("x")
                    .op("NonZero", {"x"}, {"y"}, "n")
                    .output("y"));
    const auto outcome = open.run(request({"x:replicated"}));
    QVERIFY2(outcome, qPrintable(errorOf(outcome)));
    const auto& whole = (*open.document.annotations.nodes[0])[0].sharding_spec(0);
    QCOMPARE(whole.device(0), std::int64_t(-1));
    QVERIFY(whole.sharded_dim().empty());
}

void TstShardText::whatCannotBeDoneIsSaid_data() {
    QTest::addColumn<AnnotateRequest>("wanted");
    QTest::addColumn<QString>("reason");
    const auto row = [](const char* name, const AnnotateRequest& wanted, const char* reason) {
        QTest::addRow("%s", name) << wanted << reason;
    };
    row("no such tensor", request({"onnx::MatMul_1:0=tp"}),
        "no tensor matches 'onnx::MatMul_1'; did you mean 'onnx::MatMul_11'");
    row("no such node", request({"h1@*layrs*:0=tp"}), "no node matches '*layrs*'");
    row("near node", request({"h1@ad:0=tp"}), "did you mean 'add'");
    row("node without it", request({"x@Relu!*:0=dp"}),
        "no node that matches 'Relu!*' has a tensor 'x'");
    row("no such slot", request({"#in7@Relu!*:0=dp"}), "has a tensor #in7");
    row("unknown axis", request({"h1:0=pt"}),
        "'h1' at '/model/layers.1/query/MatMul': the mesh dp=2,tp=4 has no axis 'pt'; did you "
        "mean");
    row("axis twice", request({"h1:0=tp,1=tp"}), "axis 'tp' is used twice");
    row("no such dimension", request({"h1:2=tp"}),
        "there is no dimension 2: the tensor has rank 2");
    row("same dimension", request({"h1:1=tp,-1=dp"}), "dimension 1 is given twice");
    row("sizes", request({"h1:1=3/tp*2"}), "dimension 1 has 8 elements; 3 * 2 is 6");
    row("no multiple", request({"h1:1=3*tp"}),
        "dimension 1 has 8 elements, which is no multiple of 3");
    row("bad mesh", request({}, "dp=0"), "mesh 'dp=0': size '0'");
    row("no configuration", request({"h1:0=dp"}, ""), "the model has none; give --mesh");
    AnnotateRequest stage = request({});
    stage.stages = {"add=x"};
    row("bad stage", stage, "--stage 'add=x': the form is NODE=N");
    stage.stages = {"sub=1"};
    row("no node for the stage", stage, "no node matches 'sub'");
    stage.stages = {};
    stage.stageDevices = {"0=6-9"};
    row("devices of a stage", stage, "device 9 is not one of the 8 devices");
    stage.stageDevices = {"0"};
    row("form of stage devices", stage, "the form is N=DEVICES");
}

void TstShardText::whatCannotBeDoneIsSaid() {
    QFETCH(AnnotateRequest, wanted);
    QFETCH(QString, reason);
    Opened opened;
    const QString error = errorOf(opened.run(wanted));
    QVERIFY2(error.contains(reason), qPrintable(error));

    Opened other(decoder().configuration("c", 4));
    QVERIFY(errorOf(other.run(request({"h1:0=dp"})))
                .contains("configuration 'c' has 4 devices, the mesh has 8"));
}

void TstShardText::layoutsAreDescribed() {
    const Mesh mesh = *Mesh::parse("dp=2,tp=2");
    const auto both = [&](const Layout& layout) {
        return QString::fromStdString(shortText(layout, mesh) + " / " + describe(layout, mesh));
    };
    QCOMPARE(both(*encode(mesh, {{{{8, {1}}}, {}}}, {8, 4})),
             QString("[tp, ·] / [0]: tp(2) over devices 0,2 | 1,3; replicated over dp"));
    QCOMPARE(both(*encode(mesh, {{{{8, {0}}}, {{4, {1}}}}}, {8, 4})),
             QString("[dp, tp] / [0]: dp(2), [1]: tp(2) over devices 0 | 1 | 2 | 3"));
    QCOMPARE(both(*encode(mesh, {{{{8, {1, 0}}}}}, {8})),
             QString("[tp+dp] / [0]: tp+dp(4) over devices 0 | 2 | 1 | 3"));
    QCOMPARE(both(Layout::replicated({8}, {0, 1, 2, 3})),
             QString("replicated / replicated over all 4 devices"));
    QCOMPARE(both(Layout::replicated({8}, {1, 2, 3})),
             QString("devices 1-3 / replicated over devices 1-3"));
    QCOMPARE(both(Layout::replicated({8}, {2})), QString("device 2 / device 2"));
    QCOMPARE(both(Layout({8}, {{{8, 2}}}, {{0, 1}, {1, 2}})),
             QString("[÷2] on 0,1 | 1,2 / [0]: 2 shards over devices 0,1 | 1,2"));
    QCOMPARE(QString::fromStdString(shortText(*encode(mesh, {{{{3, {}}, {8, {1}}}}}, {24}), mesh)),
             QString("[3*tp]"));
}

void TstShardText::partsOfAxesAreShown() {
    const Mesh mesh = *Mesh::parse("tp=4");
    QCOMPARE(QString::fromStdString(shortText(Layout({8}, {{{8, 2}}}, {{0, 1}, {2, 3}}), mesh)),
             QString("[tp:(1)2]"));
    QCOMPARE(QString::fromStdString(shortText(Layout({8}, {{{8, 2}}}, {{0, 2}, {1, 3}}), mesh)),
             QString("[tp:(2)2]"));
    const Layout swapped({8, 8}, {{{8, 2}}, {{8, 2}}}, {{0}, {2}, {1}, {3}});
    QCOMPARE(QString::fromStdString(shortText(swapped, mesh)), QString("[tp:(2)2, tp:(1)2]"));
}

QTEST_GUILESS_MAIN(TstShardText)
#include "tst_shard_text.moc"
