// SPDX-License-Identifier: Apache-2.0
// Every real model completes and checks in both profiles. What operators are not supported stands
// in docs/models.md, a list that may only shrink; SHARDWRIGHT_UPDATE_DOCS=1 writes it.
#include "check/proposals.h"
#include "sharding/shard_text.h"
#include "support/analysed.h"
#include "support/kept_list.h"
#include "support/shared_files.h"

#include <QFile>
#include <QtTest>

#include <algorithm>
#include <cstring>
#include <tuple>

using namespace shardwright;
using namespace shardwright::test;

namespace {

constexpr const char* kIntroduction =
    "# Real models\n\n"
    "Operators of the models that the tests read which are not supported: which, where, and why. "
    "All of these models complete and check in both profiles, as they are and with their batch "
    "over two devices (sizes that are not given are 8). Rows of profile `both` have no rule on "
    "these shapes and run whole, which the checker says (SW306). Rows of profile `strict` are what "
    "proposal 0007 does not describe; `check --profile strict` names each of these nodes that is "
    "split (SW307). *First* is the first of the nodes. Written by a test, which fails when the "
    "list grows.\n\n"
    "| model | profile | operator | nodes | first | why |\n|---|---|---|---|---|---|\n";
constexpr int kNodesColumn = 3;

/// Models whose batch no mesh can split, with what the checker says of it.
const std::map<std::string, std::string> kNoDataParallel{
    {"loop_if_legacy_script", "`/ReduceSum` inside sums over it"}};

/// Model, profile, operator, reason: the first node and how many there are.
using Unsupported = std::map<std::tuple<std::string, std::string, std::string, std::string>,
                             std::pair<std::string, int>>;

std::string placeOf(const GraphIndex& graph, NodeId id) {
    return "`" + graph.label(id) + "`" + (graph.node(id).graph == graph.main().id ? "" : " (body)");
}

void collect(const std::string& model, const Analysis& analysis, Unsupported& list) {
    const GraphIndex& graph = analysis.graph();
    for (const NodeInfo& node : graph.nodes) {
        const RulePtr& rule = analysis.rules->of(node.id);
        if (rule->known && rule->strict)
            continue;
        const std::string why = rule->known             ? rule->strictReason
                                : rule->factors.empty() ? std::string("it is treated as whole")
                                                        : rule->factors[0].reason;
        auto& [first, count] =
            list[{model, rule->known ? "strict" : "both", std::string(graph.opType(node.id)), why}];
        if (++count == 1)
            first = placeOf(graph, node.id);
    }
}

KeptRows rowsOf(const Unsupported& list) {
    KeptRows rows;
    for (const auto& [key, nodes] : list) {
        const auto& [model, profile, op, why] = key;
        rows.insert(keptRow("| " + model + " | " + profile + " | " + op + " | " +
                                std::to_string(nodes.second) + " | " + nodes.first + " | " + why +
                                " |",
                            kNodesColumn));
    }
    return rows;
}

std::string pageOf(const KeptRows& rows) {
    std::string text = kIntroduction;
    for (const auto& [row, count] : rows) {
        const std::size_t at = row.find(" # ");
        text += row.substr(0, at + 1) + std::to_string(count) + row.substr(at + 2) + "\n";
    }
    return text;
}

/// A name as `--shard` takes it.
std::string escaped(const std::string& name) {
    std::string text;
    for (const char c : name)
        text += (std::strchr("*?\\@:#=!", c) ? "\\" : "") + std::string(1, c);
    return text;
}

/// All inputs that have dimensions are split along the first.
Document dataParallel(const Document& document, const ShapeTable& shapes) {
    const GraphIndex& graph = document.graph();
    AnnotateRequest request;
    request.mesh = "dp=2";
    for (const ValueId input : graph.main().inputs) {
        const auto& dims = shapes.of(input).dims;
        if (!dims.empty() && dims[0] >= 2 && !graph.value(input).uses.empty())
            request.shards.push_back(escaped(graph.value(input).name) + ":0=dp");
    }
    LayoutPool pool;
    const auto outcome = annotate(document, shapes, request, pool);
    if (!outcome)
        qFatal("%s", outcome.error().text().c_str());
    Document result = document;
    apply(result.annotations, outcome->edit);
    return result;
}

/// The first tensor of the main graph that has no layout, and its node.
std::string incomplete(const Analysis& analysis) {
    const GraphIndex& graph = analysis.graph();
    for (const NodeId id : graph.main().nodes) {
        const NodeInfo& node = graph.node(id);
        const NodeMeaning& meaning = analysis.meaning.nodes[id.index()];
        const auto unknown = [&](const std::vector<ValueId>& values,
                                 const std::vector<SlotMeaning>& meanings) {
            for (std::size_t i = 0; i < values.size(); ++i)
                if (values[i] &&
                    (i >= meanings.size() || meanings[i].source == LayoutSource::Unknown))
                    return graph.value(values[i]).name + " at " + graph.label(id);
            return std::string();
        };
        if (std::string text = unknown(node.inputs, meaning.inputs); !text.empty())
            return text;
        if (std::string text = unknown(node.outputs, meaning.outputs); !text.empty())
            return text;
    }
    return {};
}

}  // namespace

class TstModels : public QObject {
    Q_OBJECT
private slots:
    void everyModelCompletesAndChecks_data() {
        if (sharedModels().empty())
            QSKIP("models: the shared models are not here");
        QTest::addColumn<QString>("path");
        QTest::addColumn<bool>("strict");
        for (const auto& path : sharedModels())
            for (const bool strict : {false, true})
                QTest::addRow("%s %s", path.stem().c_str(), strict ? "strict" : "extended")
                    << QString::fromStdString(path.string()) << strict;
    }
    void everyModelCompletesAndChecks() {
        QFETCH(QString, path);
        QFETCH(bool, strict);
        const Profile profile = strict ? Profile::Strict : Profile::Extended;
        const std::string name = QFileInfo(path).completeBaseName().toStdString();
        const auto document = Document::open(path.toStdString());
        QVERIFY2(document, document ? "" : document.error().text().c_str());

        const auto plain = analysed(*document, profile);
        QCOMPARE(errorsOf(*plain), std::string());
        QCOMPARE(incomplete(*plain), std::string());
        if (!strict)
            collect(name, *plain, m_unsupported);

        const Document annotated = dataParallel(*document, *plain->shapes);
        const auto analysis = analysed(annotated, profile);
        const std::string errors = errorsOf(*analysis);
        if (const auto at = kNoDataParallel.find(name); at != kNoDataParallel.end()) {
            QVERIFY2(errors.find(at->second) != std::string::npos, errors.c_str());
            return;
        }
        QCOMPARE(errors, std::string());
        QCOMPARE(incomplete(*analysis), std::string());
        checkIsSaid(*analysis, strict);

        const auto proposals = proposeLayouts(*analysis, {});
        QVERIFY2(proposals, proposals ? "" : proposals.error().text().c_str());
        QVERIFY(proposals->left.empty());
        QVERIFY(proposals->conflicts.empty());
        Document all = annotated;
        apply(all.annotations, proposals->acceptAll);
        QCOMPARE(errorsOf(*analysed(all, profile)), std::string());
    }

    void theListOfUnsupportedOperatorsDoesNotGrow() {
        if (sharedModels().empty())
            QSKIP("models: the shared models are not here");
        const KeptRows found = rowsOf(m_unsupported);
        QVERIFY(!found.empty());
        QFile file(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/docs/models.md");
        if (qEnvironmentVariableIsSet("SHARDWRIGHT_UPDATE_DOCS")) {
            const std::string text = pageOf(found);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text.data(), static_cast<qint64>(text.size()));
            return;
        }
        QVERIFY(file.open(QIODevice::ReadOnly));
        const KeptRows kept = keptRows(file.readAll().toStdString(), kNodesColumn);
        const KeptChange change = compareKept(kept, found);
        for (const std::string& row : change.grown)
            qWarning("not in docs/models.md: %s", row.c_str());
        QVERIFY(change.grown.empty());
        for (const std::string& row : change.shrunk)
            qInfo("docs/models.md can lose a row, write it anew: %s", row.c_str());
    }

private:
    /// The checker names what is not supported: which, where and why, as the list has it.
    void checkIsSaid(const Analysis& analysis, bool strict) const {
        const GraphIndex& graph = analysis.graph();
        for (const NodeId id : graph.main().nodes) {
            const NodeMeaning& meaning = analysis.meaning.nodes[id.index()];
            const RulePtr& rule = analysis.rules->of(id);
            const auto split = [](const SlotMeaning& s) {
                return s.layout && !s.layout->isWhole();
            };
            const bool splits = std::any_of(meaning.inputs.begin(), meaning.inputs.end(), split) ||
                                std::any_of(meaning.outputs.begin(), meaning.outputs.end(), split);
            if (meaning.everywhere || !splits || (rule->known && (rule->strict || !strict)))
                continue;
            const std::string& why = rule->known ? rule->strictReason : rule->factors[0].reason;
            const bool said = std::any_of(
                analysis.diagnostics.begin(), analysis.diagnostics.end(), [&](const auto& d) {
                    return d.node == id && d.message.find(why) != std::string::npos &&
                           d.message.find(graph.label(id)) != std::string::npos &&
                           d.message.starts_with(std::string(graph.opType(id)));
                });
            QVERIFY2(said, ("nothing is said of " + graph.label(id) + ": " + why).c_str());
        }
    }

    Unsupported m_unsupported;
};

QTEST_GUILESS_MAIN(TstModels)
#include "tst_models.moc"
