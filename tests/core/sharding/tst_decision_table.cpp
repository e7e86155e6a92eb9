// SPDX-License-Identifier: Apache-2.0
//
// Each row of the decision table for annotations as data: what is written, which codes it gives,
// and that the fix that is offered takes the code away. A code without a row fails.

#include "sharding/codec.h"
#include "sharding/codes.h"
#include "support/model_builder.h"

#include <QtTest/QTest>

#include <google/protobuf/text_format.h>

#include <functional>
#include <set>

using namespace shardwright;
using namespace shardwright::test;

namespace {

onnx::NodeDeviceConfigurationProto annotation(const std::string& text) {
    onnx::NodeDeviceConfigurationProto proto;
    [[maybe_unused]] const bool ok = google::protobuf::TextFormat::ParseFromString(text, &proto);
    assert(ok);
    return proto;
}

/// x [4, 8] -> Relu "n" -> y, with configuration "c" of four devices.
ModelBuilder relu(const std::vector<std::string>& annotations, const Shape& shape = {4, 8},
                  int ir = 11) {
    ModelBuilder builder;
    builder.irVersion(ir)
        .configuration("c", 4)
        .input("x", shape)
        .op("Relu", {"x"}, {"y"}, "n")
        .output("y", shape);
    for (const std::string& text : annotations)
        builder.annotate(annotation(text));
    return builder;
}

/// One spec of x at that node.
ModelBuilder spec(const std::string& text, const Shape& shape = {4, 8}) {
    return relu({"configuration_id: 'c' sharding_spec { tensor_name: 'x' " + text + " }"}, shape);
}

/// Devices declared by hand, and metadata.
ModelBuilder declared(const std::string& name, int devices,
                      const std::vector<std::string>& names = {}, const std::string& mesh = {}) {
    ModelBuilder builder;
    builder.irVersion(11)
        .configuration("c", 4)
        .input("x", {4})
        .op("Relu", {"x"}, {"y"}, "n")
        .output("y", {4});
    builder.configuration(name, devices, names);
    if (!mesh.empty())
        builder.metadata("shardwright.mesh." + name, mesh);
    return builder;
}

/// a -> first -> b -> second -> c, each with an annotation.
ModelBuilder chain(const std::string& first, const std::string& second,
                   const std::string& mesh = {}) {
    ModelBuilder builder;
    builder.irVersion(11).configuration("c", 4).input("a", {4});
    builder.op("Relu", {"a"}, {"b"}, "first")
        .annotate(annotation("configuration_id: 'c' " + first));
    builder.op("Relu", {"b"}, {"c"}, "second")
        .annotate(annotation("configuration_id: 'c' " + second));
    builder.output("c", {4});
    if (!mesh.empty())
        builder.metadata("shardwright.mesh.c", mesh);
    return builder;
}

/// A spec at a node whose input has no known rank.
ModelBuilder unknownRank(const std::string& text) {
    ModelBuilder builder;
    builder.irVersion(11)
        .configuration("c", 4)
        .inputOfUnknownShape("x")
        .op("Relu", {"x"}, {"y"}, "n")
        .output("y");
    builder.annotate(
        annotation("configuration_id: 'c' sharding_spec { tensor_name: 'x' " + text + " }"));
    return builder;
}

ModelBuilder sequence(const std::string& text) {
    ModelBuilder builder;
    builder.irVersion(11).configuration("c", 4).input("x", {4}).op("SequenceConstruct", {"x"},
                                                                   {"s"}, "n");
    builder.annotate(
        annotation("configuration_id: 'c' sharding_spec { tensor_name: " + text + " device: 0 }"));
    builder.op("SequenceLength", {"s"}, {"y"}, "m").output("y", {}, onnx::TensorProto::INT64);
    return builder;
}

/// x at a node that has it under the name m/x, as a prefix gives it.
ModelBuilder renamed(const std::string& text) {
    ModelBuilder builder;
    builder.irVersion(11).configuration("c", 4).input("m/x", {4, 8}).weight("m/w", {8, 8});
    builder.op("MatMul", {"m/x", "m/w"}, {"m/y"}, "n").output("m/y", {4, 8});
    builder.annotate(annotation("configuration_id: 'c' " + text));
    return builder;
}

struct Row {
    const char* code;
    const char* name;
    ModelBuilder failing;
    std::vector<std::string>
        all;               ///< All codes that `failing` gives, sorted; empty: just this one.
    const char* message;   ///< Part of the message.
    const char* fix;       ///< Id of a fix that takes the code away; null: none is offered.
    ModelBuilder passing;  ///< Gives no diagnostics at all.
};

const char* const kRows2 =
    "device: 0 device: 1 sharded_dim { axis: 0 simple_sharding { num_shards: 2 } }";

std::vector<Row> declarationRows() {
    const auto fine = declared("d", 4, {"a", "b", "c", "d"},
                               R"({"mesh":"dp=2,tp=2","stages":{"0":"0-1","1":"2,3"}})");
    return {
        {"SW101",
         "configuration without a name",
         declared("", 4),
         {},
         "without a name",
         nullptr,
         fine},
        {"SW102",
         "two configurations of one name",
         declared("c", 8),
         {},
         "two configurations named 'c'",
         nullptr,
         fine},
        {"SW103", "no devices", declared("d", 0), {}, "'d' has 0 devices", nullptr, fine},
        {"SW103", "negative devices", declared("d", -3), {}, "'d' has -3 devices", nullptr, fine},
        {"SW104",
         "too few names",
         declared("d", 4, {"a", "b"}),
         {},
         "4 devices and 2 device names",
         nullptr,
         fine},
        {"SW105",
         "equal names",
         declared("d", 2, {"a", "a"}),
         {},
         "two devices named 'a'",
         nullptr,
         fine},
        {"SW106", "not JSON", declared("d", 4, {}, "{"), {}, "not JSON", nullptr, fine},
        {"SW106",
         "bad mesh",
         declared("d", 4, {}, R"({"mesh":"dp=two"})"),
         {},
         "size 'two' of axis 'dp'",
         nullptr,
         fine},
        {"SW106",
         "bad stage",
         declared("d", 4, {}, R"({"stages":{"x":"0"}})"),
         {},
         "'x' is not a stage",
         nullptr,
         fine},
        {"SW106",
         "bad range",
         declared("d", 4, {}, R"({"stages":{"0":"3-1"}})"),
         {},
         "runs backwards",
         nullptr,
         fine},
        {"SW106",
         "stage outside",
         declared("d", 4, {}, R"({"stages":{"0":"2-5"}})"),
         {},
         "has 4 devices",
         nullptr,
         fine},
        {"SW107",
         "mesh of another size",
         declared("d", 4, {}, R"({"mesh":"dp=2,tp=4"})"),
         {},
         "dp=2,tp=4 of 8 devices does not fit configuration 'd' of 4",
         nullptr,
         fine},
        {"SW108",
         "too many devices",
         declared("d", 2000000000),
         {},
         "2000000000 devices",
         nullptr,
         fine},
    };
}

std::vector<Row> nodeRows() {
    const std::string y2 = "sharding_spec { tensor_name: 'y' device: 0 } ";
    const std::string x2 = "sharding_spec { tensor_name: 'x' device: 0 } ";
    const auto fine = relu({"configuration_id: 'c' " + x2 + y2});
    const std::string bad =
        "sharding_spec { tensor_name: 'q' device: 99 sharded_dim { axis: 9 } } ";
    return {
        {"SW110",
         "unknown configuration",
         relu({"configuration_id: 'q' pipeline_stage: -1 " + bad}),
         {},
         "no device configuration 'q'",
         "declare",
         fine},
        {"SW110",
         "unknown, one other",
         relu({"configuration_id: 'q' " + x2}),
         {},
         "'q'",
         "use-configuration",
         fine},
        {"SW111", "no configuration", relu({bad}), {}, "does not name", nullptr, fine},
        {"SW111",
         "no configuration, one declared",
         relu({x2}),
         {},
         "does not name",
         "use-configuration",
         fine},
        {"SW111",
         "empty configuration",
         relu({"configuration_id: '' " + x2}),
         {},
         "does not name",
         "use-configuration",
         fine},
        {"SW112",
         "two of one configuration",
         relu({"configuration_id: 'c' " + x2, "configuration_id: 'c' " + y2}),
         {},
         "2 annotations of configuration 'c'",
         "merge",
         fine},
        {"SW113",
         "no tensor",
         relu({"configuration_id: 'c' sharding_spec { device: 99 }"}),
         {},
         "does not name its tensor",
         "remove-spec",
         fine},
        {"SW113",
         "no tensor, one is meant",
         relu({"configuration_id: 'c' sharding_spec { device: 0 } " + y2}),
         {},
         "perhaps 'x'",
         "rename-tensor",
         fine},
        {"SW114",
         "unknown tensor",
         relu({"configuration_id: 'c' " + bad}),
         {},
         "'q' is neither an input nor an output",
         "remove-spec",
         fine},
        {"SW114",
         "prefix added",
         renamed("sharding_spec { tensor_name: 'w' device: 0 } sharding_spec { tensor_name: 'm/x' "
                 "device: 0 }"),
         {},
         "perhaps 'm/w'",
         "rename-tensor",
         renamed("sharding_spec { tensor_name: 'm/w' device: 0 }")},
        {"SW114",
         "the only one left",
         renamed("sharding_spec { tensor_name: 'q' device: 0 } sharding_spec { tensor_name: 'm/x' "
                 "device: 0 } "
                 "sharding_spec { tensor_name: 'm/y' device: 0 }"),
         {},
         "perhaps 'm/w'",
         "rename-tensor",
         renamed("sharding_spec { tensor_name: 'm/w' device: 0 }")},
        {"SW115",
         "two different specs",
         relu({"configuration_id: 'c' " + x2 + "sharding_spec { tensor_name: 'x' device: 1 }"}),
         {},
         "two specs",
         "remove-spec",
         relu({"configuration_id: 'c' " + x2 + x2})},
    };
}

std::vector<Row> dimensionRows() {
    const auto fine = spec(kRows2);
    const auto two = [](const std::string& a, const std::string& b,
                        const char* devices = "device: [0, 1, 2, 3]") {
        return std::string(devices) + " sharded_dim { axis: " + a +
               " simple_sharding { num_shards: 2 } } sharded_dim { axis: " + b +
               " simple_sharding { num_shards: 2 } }";
    };
    const auto first = [](const std::string& parts) {
        return "device: [0, 1] sharded_dim { axis: 0 " + parts + " }";
    };
    const std::string dims =
        "device: [0, 1] sharded_dim { axis: 0 simple_sharding { num_shards: 2 ";
    return {
        {"SW120",
         "axis too large",
         spec(two("0", "2")),
         {},
         "axis 2 is out of range for rank 2 (-2 to 1)",
         nullptr,
         fine},
        {"SW120",
         "axis too small",
         spec(two("0", "-3")),
         {},
         "axis -3 is out of range",
         nullptr,
         spec(two("-2", "-1"))},
        {"SW120",
         "axis of a scalar",
         spec(first("simple_sharding { num_shards: 2 }"), {}),
         {},
         "a scalar has no dimensions",
         nullptr,
         spec("device: 0", {})},
        {"SW121",
         "same axis",
         spec(two("1", "1")),
         {},
         "dimension 1 is sharded twice",
         nullptr,
         spec(two("0", "1"))},
        {"SW121",
         "same axis, one negative",
         spec(two("0", "-2")),
         {},
         "dimension 0 is sharded twice",
         nullptr,
         spec(two("0", "-1"))},
        {"SW122",
         "unknown rank, signs differ",
         unknownRank(two("0", "-1")),
         {"SW122", "SW204"},
         "rank is not known",
         nullptr,
         fine},
        {"SW123",
         "not ascending",
         spec(two("1", "0")),
         {},
         "listed as 1, 0",
         "normalise-order",
         spec(two("0", "1"))},
        {"SW123",
         "not ascending, negative",
         spec(two("-1", "0")),
         {},
         "listed as 1, 0",
         "normalise-order",
         spec(two("-2", "1"))},
        {"SW124",
         "no simple_sharding",
         spec("device: 0 sharded_dim { axis: 1 }"),
         {},
         "dimension 1 is listed without",
         "remove-dimension",
         fine},
        {"SW125",
         "no num_shards",
         spec(first("simple_sharding { }")),
         {},
         "0 shards",
         nullptr,
         fine},
        {"SW125",
         "negative num_shards",
         spec(first("simple_sharding { num_shards: -2 }")),
         {},
         "-2 shards",
         nullptr,
         fine},
        {"SW126",
         "one shard",
         spec("device: 0 sharded_dim { axis: 0 simple_sharding { num_shards: 1 } }"),
         {},
         "1 shard",
         nullptr,
         fine},
        {"SW127",
         "size differs",
         spec(dims + "dim_value: 5 } }"),
         {},
         "dimension 0 is 4, dim_value says 5",
         nullptr,
         spec(dims + "dim_value: 4 } }")},
        {"SW127",
         "parts differ",
         spec(first("simple_sharding { dim_value: 3 num_shards: 1 } simple_sharding { dim_value: 2 "
                    "num_shards: 2 }")),
         {},
         "multiply to 6",
         nullptr,
         spec(first("simple_sharding { dim_value: 2 num_shards: 1 } simple_sharding { dim_value: 2 "
                    "num_shards: 2 }"))},
        {"SW128",
         "symbol differs",
         spec(dims + "dim_param: 'n' } }", {"batch", 8}),
         {},
         "dim_param says 'n'",
         nullptr,
         spec(dims + "dim_param: 'batch' } }", {"batch", 8})},
        {"SW128",
         "symbol for a number",
         spec(dims + "dim_param: 'n' } }"),
         {},
         "dimension 0 is 4, dim_param says 'n'",
         nullptr,
         spec(dims + "dim_param: '' } }")},
        {"SW128",
         "number for a symbol",
         spec(dims + "dim_value: 6 } }", {"batch", 8}),
         {},
         "batch (8 here), dim_value says 6",
         nullptr,
         spec(dims + "dim_value: 8 } }", {"batch", 8})},
        {"SW129",
         "size zero",
         spec(dims + "dim_value: 0 } }"),
         {},
         "dim_value 0",
         nullptr,
         spec("device: [0, 1] sharded_dim { axis: 1 simple_sharding { num_shards: 2 } }", {0, 8})},
        {"SW130",
         "part without a size",
         spec(first(
             "simple_sharding { num_shards: 1 } simple_sharding { dim_value: 2 num_shards: 2 }")),
         {},
         "2 parts, 1 without a size",
         nullptr,
         fine},
        {"SW130",
         "two parts without a size",
         spec(first("simple_sharding { num_shards: 1 } simple_sharding { num_shards: 2 }")),
         {},
         "the layout is not known",
         nullptr,
         fine},
    };
}

std::vector<Row> deviceRows() {
    const auto fine = spec(kRows2);
    const std::string dim = "sharded_dim { axis: 0 simple_sharding { num_shards: 2 } } ";
    const auto map = [](int key, const std::string& values) {
        return "index_to_device_group_map { key: " + std::to_string(key) + " value: [" + values +
               "] } ";
    };
    const auto group = spec("device: -1 " + map(-1, "0, 1"));
    return {
        {"SW131",
         "too few devices",
         spec("device: [0, 1, 2] sharded_dim { axis: 0 simple_sharding { num_shards: 2 } } "
              "sharded_dim { axis: 1 simple_sharding { num_shards: 2 } }"),
         {},
         "4 shards (2 on dimension 0, 2 on dimension 1) and 3 entries",
         nullptr,
         fine},
        {"SW132",
         "too many devices",
         spec("device: [0, 1, 2] " + dim),
         {},
         "2 shards (2 on dimension 0) and 3 entries",
         nullptr,
         fine},
        {"SW133", "no devices", spec(dim), {}, "`device` is empty", nullptr, fine},
        {"SW133",
         "no devices, as many as shards",
         spec("sharded_dim { axis: 1 simple_sharding { num_shards: 4 } }"),
         {},
         "`device` is empty",
         "list-devices",
         fine},
        {"SW134",
         "whole on several",
         spec("device: [0, 1]"),
         {},
         "whole on each of the devices 0, 1",
         "use-group",
         group},
        {"SW135",
         "key is a device",
         spec("device: 0 " + map(0, "0, 1")),
         {},
         "key 0, which is also a device",
         "rename-keys",
         group},
        {"SW136",
         "duplicate key",
         spec("device: -1 " + map(-1, "0") + map(-1, "1")),
         {},
         "more than one entry for key -1",
         nullptr,
         group},
        {"SW137",
         "empty group",
         spec("device: -1 " + map(-1, "")),
         {},
         "group -1 is empty",
         nullptr,
         group},
        {"SW138",
         "group in a group",
         spec("device: -1 " + map(-1, "-2, 1") + map(-2, "0")),
         {"SW138", "SW141"},
         "group -2 is a member of a group",
         nullptr,
         group},
        {"SW139",
         "negative device",
         spec("device: [0, -1] " + dim),
         {},
         "device -1 is negative",
         nullptr,
         group},
        {"SW139",
         "negative member",
         spec("device: -1 " + map(-1, "0, -5")),
         {},
         "device -5 is negative",
         nullptr,
         group},
        {"SW140",
         "device outside",
         spec("device: [0, 4] " + dim),
         {},
         "device 4 is not one of the 4 devices 0 to 3",
         nullptr,
         fine},
        {"SW140",
         "member outside",
         spec("device: -1 " + map(-1, "0, 7")),
         {},
         "device 7",
         nullptr,
         group},
        {"SW141",
         "unused key",
         spec(std::string(kRows2) + map(-1, "0, 1")),
         {},
         "no shard uses group -1",
         nullptr,
         group},
    };
}

std::vector<Row> layoutRows() {
    const auto fine = spec(kRows2);
    const auto split = [](int shards, const char* devices) {
        return "device: [" + std::string(devices) +
               "] sharded_dim { axis: 0 simple_sharding { num_shards: " + std::to_string(shards) +
               " } }";
    };
    const std::int64_t huge = std::int64_t{1} << 40;
    return {
        {"SW201",
         "more shards than elements",
         spec(split(4, "0, 1, 2, 3"), {3, 8}),
         {},
         "1 shards are empty",
         nullptr,
         fine},
        {"SW202",
         "uneven",
         spec(split(4, "0, 1, 2, 3"), {10, 8}),
         {},
         "the blocks have 3, 3, 3, 1 elements",
         nullptr,
         fine},
        {"SW202",
         "uneven with an empty shard",
         spec(split(4, "0, 1, 2, 3"), {5, 8}),
         {},
         "2, 2, 1, 0",
         nullptr,
         fine},
        {"SW203",
         "too fine",
         spec("device: [0, 1] sharded_dim { axis: 0 simple_sharding { dim_value: " +
                  std::to_string(huge / 2) +
                  " num_shards: 1 } simple_sharding { dim_value: 2 num_shards: 2 } }",
              {huge}),
         {},
         "millions of separate pieces",
         nullptr,
         fine},
        {"SW204", "unknown rank", unknownRank(kRows2), {}, "rank is not known", nullptr, fine},
        {"SW205",
         "sequence",
         sequence("'s'"),
         {},
         "'s': is not a tensor",
         "remove-spec",
         sequence("'x'")},
    };
}

std::vector<Row> stageRows() {
    const std::string stages = R"({"mesh":"pp=2,tp=2"})";
    const std::string split = " sharded_dim { axis: 0 simple_sharding { num_shards: 2 } } }";
    ModelBuilder old =
        relu({"configuration_id: 'c' sharding_spec { tensor_name: 'x' device: 0 }"}, {4, 8}, 10);
    ModelBuilder none = relu({}, {4, 8}, 11);
    return {
        {"SW401",
         "negative stage",
         relu({"configuration_id: 'c' pipeline_stage: -1"}),
         {},
         "stage -1",
         "remove-stage",
         relu({"configuration_id: 'c' pipeline_stage: 0"})},
        {"SW402",
         "decreasing stage",
         chain("pipeline_stage: 1", "pipeline_stage: 0"),
         {},
         "in stage 0 but reads 'b' of 'first' in stage 1",
         "later-stage",
         chain("pipeline_stage: 0", "pipeline_stage: 5")},
        {"SW403",
         "no stage 0",
         chain("sharding_spec { tensor_name: 'a' device: 0 }", "pipeline_stage: 1"),
         {},
         "1 node with an annotation",
         "stage-0",
         chain("pipeline_stage: 1", "pipeline_stage: 1")},
        {"SW404",
         "outside the stage",
         chain("pipeline_stage: 0",
               "pipeline_stage: 1 sharding_spec { tensor_name: 'b' device: [0, 1]" + split, stages),
         {},
         "'b' lies on device 0,1, but stage 1 of the node is bound to devices 2,3",
         "move-to-stage",
         chain("pipeline_stage: 0",
               "pipeline_stage: 1 sharding_spec { tensor_name: 'b' device: [2, 3]" + split,
               stages)},
        {"SW601", "old version", old, {}, "IR version 10", "raise-version", none},
    };
}

std::vector<Row> allRows() {
    std::vector<Row> rows;
    for (const auto& part :
         {declarationRows(), nodeRows(), dimensionRows(), deviceRows(), layoutRows(), stageRows()})
        rows.insert(rows.end(), part.begin(), part.end());
    return rows;
}

std::vector<Diagnostic> diagnose(const Document& document) {
    const auto shapes = ShapeTable::build(document.model, {});
    LayoutPool pool;
    const auto configuration = findConfiguration(document, *shapes, "c", pool);
    assert(configuration);
    return decodeAnnotations(document, *shapes, *configuration, pool).diagnostics;
}

std::string codesOf(const std::vector<Diagnostic>& diagnostics) {
    std::multiset<std::string> codes;
    for (const Diagnostic& diagnostic : diagnostics)
        codes.insert(diagnostic.code);
    std::string text;
    for (const std::string& code : codes)
        text += (text.empty() ? "" : " ") + code;
    return text;
}

const Diagnostic* findCode(const std::vector<Diagnostic>& diagnostics, const std::string& code) {
    for (const Diagnostic& diagnostic : diagnostics) {
        if (diagnostic.code == code)
            return &diagnostic;
    }
    return nullptr;
}

}  // namespace

class TstDecisionTable : public QObject {
    Q_OBJECT

private slots:
    void aRowGivesItsCodeAndItsFixTakesItAway_data() { addRows(); }
    void aRowGivesItsCodeAndItsFixTakesItAway();
    void theOtherSideOfARowGivesNothing_data() { addRows(); }
    void theOtherSideOfARowGivesNothing();
    void everyCodeHasARowAndWords();

private:
    std::vector<Row> m_rows = allRows();

    void addRows() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < m_rows.size(); ++i)
            QTest::addRow("%s %s", m_rows[i].code, m_rows[i].name) << static_cast<int>(i);
    }
};

void TstDecisionTable::aRowGivesItsCodeAndItsFixTakesItAway() {
    QFETCH(int, row);
    const Row& data = m_rows[static_cast<std::size_t>(row)];
    Document document = data.failing.document();
    const auto diagnostics = diagnose(document);
    std::string expected;
    for (const std::string& code : data.all)
        expected += (expected.empty() ? "" : " ") + code;
    QCOMPARE(QString::fromStdString(codesOf(diagnostics)),
             expected.empty() ? QString(data.code) : QString::fromStdString(expected));
    const Diagnostic& diagnostic = *findCode(diagnostics, data.code);
    QVERIFY2(diagnostic.message.find(data.message) != std::string::npos,
             diagnostic.message.c_str());
    QVERIFY(diagnostic.severity == findShardingCode(data.code)->severity);
    if (!data.fix)
        return;
    const auto fix = std::find_if(diagnostic.fixes.begin(), diagnostic.fixes.end(),
                                  [&](const Fix& candidate) { return candidate.id == data.fix; });
    QVERIFY(fix != diagnostic.fixes.end());
    QVERIFY(!fix->title.empty());
    QCOMPARE(fix->edit.title, fix->title);
    const Annotations before = document.annotations;
    const Edit inverse = apply(document.annotations, fix->edit);
    // What the fix brings to light may have faults of its own, but not this one.
    QVERIFY2(!findCode(diagnose(document), data.code), codesOf(diagnose(document)).c_str());
    apply(document.annotations, inverse);
    QVERIFY(document.annotations.sameAs(before));
}

void TstDecisionTable::theOtherSideOfARowGivesNothing() {
    QFETCH(int, row);
    const auto diagnostics = diagnose(m_rows[static_cast<std::size_t>(row)].passing.document());
    QVERIFY2(diagnostics.empty(),
             diagnostics.empty() ? ""
                                 : (diagnostics[0].code + " " + diagnostics[0].message).c_str());
}

void TstDecisionTable::everyCodeHasARowAndWords() {
    std::set<std::string> covered;
    for (const Row& row : m_rows)
        covered.insert(row.code);
    std::string last;
    for (const CodeInfo& info : shardingCodes()) {
        QVERIFY2(covered.contains(info.code), info.code);
        QVERIFY2(last < info.code, info.code);
        last = info.code;
        for (const char* words : {info.title, info.why, info.example, info.fix})
            QVERIFY2(std::string_view(words).size() > 5, info.code);
    }
}

QTEST_GUILESS_MAIN(TstDecisionTable)
#include "tst_decision_table.moc"
