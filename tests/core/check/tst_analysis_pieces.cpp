// SPDX-License-Identifier: Apache-2.0
// An analysis that gives what somebody looks at before the rest: the piece is a part of the whole,
// and the whole is what a run without pieces gives.
#include "edited_model.h"

#include <algorithm>
#include <set>

using namespace shardwright;
using namespace shardwright::test;

namespace {

using AnalysisPtr = std::shared_ptr<const Analysis>;

struct Pieces {
    AnalysisPtr first;  ///< Null: nothing was put off.
    AnalysisPtr whole;
};

Pieces analyse(Analyser& analyser, const Document& document, const AnalysisOptions& options,
               std::vector<NodeId> nodes, std::size_t atOnce = 0) {
    Pieces pieces;
    FirstPiece first{std::move(nodes), [&](AnalysisPtr piece) { pieces.first = std::move(piece); },
                     atOnce};
    pieces.whole = analyser.run(document, options, {}, first).value();
    return pieces;
}

bool sameSlots(const std::vector<SlotMeaning>& a, const std::vector<SlotMeaning>& b) {
    return std::ranges::equal(a, b, [](const SlotMeaning& x, const SlotMeaning& y) {
        return x.source == y.source && x.layout == y.layout && x.arrives == y.arrives &&
               x.moved == y.moved;
    });
}

/// Of one analyser, so that equal layouts are one.
QString layoutDifference(const Analysis& piece, const Analysis& whole, NodeId node) {
    const NodeMeaning& a = piece.meaning.nodes[node.index()];
    const NodeMeaning& b = whole.meaning.nodes[node.index()];
    const QString at = QString::fromStdString(whole.graph().label(node));
    if (a.everywhere != b.everywhere || a.solution != b.solution)
        return at + ": what it computes";
    if (!sameSlots(a.inputs, b.inputs) || !sameSlots(a.outputs, b.outputs))
        return at + ": its layouts";
    const NodeInfo& info = whole.graph().node(node);
    for (const auto* values : {&info.inputs, &info.outputs})
        for (const ValueId value : *values)
            if (value &&
                !(piece.meaning.values[value.index()] == whole.meaning.values[value.index()]))
                return at + ": the layout of " +
                       QString::fromStdString(whole.graph().value(value).name);
    return {};
}

/// Without those of communication, which are compared for themselves.
std::multiset<std::string> said(const Analysis& analysis, NodeId node) {
    std::multiset<std::string> texts;
    for (const Diagnostic& d : analysis.diagnostics) {
        if (d.node != node || d.code == "SW501")
            continue;
        std::string text = d.code + d.message + d.tensor + std::to_string(d.dimension);
        for (const Fix& fix : d.fixes)
            text += "|" + fix.id + fix.title + std::to_string(fix.bytes);
        texts.insert(text);
    }
    return texts;
}

/// Reshards that a node takes part in, however they are shared with others.
std::multiset<std::string> communicated(const Analysis& analysis, NodeId node) {
    std::multiset<std::string> texts;
    for (const CommEntry& e : analysis.communication.entries) {
        const bool reads = e.phase == CommPhase::Input &&
                           std::ranges::find(e.consumers, node) != e.consumers.end();
        if (e.node == node || reads)
            texts.insert(collectiveName(e.kind) + " " + analysis.graph().value(e.value).name + " " +
                         std::to_string(e.bytes) + " " + std::to_string(e.groups.size()) + " " +
                         std::to_string(reinterpret_cast<std::uintptr_t>(e.plan.get())));
    }
    return texts;
}

QString differenceInView(const Analysis& piece, const Analysis& whole) {
    for (const NodeId node : piece.piece) {
        if (const QString layouts = layoutDifference(piece, whole, node); !layouts.isEmpty())
            return layouts;
        const QString at = QString::fromStdString(whole.graph().label(node));
        if (said(piece, node) != said(whole, node))
            return at + ": what is said of it";
        if (communicated(piece, node) != communicated(whole, node))
            return at + ": what it communicates";
    }
    const std::set<NodeId> seen(piece.piece.begin(), piece.piece.end());
    for (const Diagnostic& d : piece.diagnostics)
        if (!seen.contains(d.node))
            return "a diagnostic of what is not in view";
    for (const CommEntry& e : piece.communication.entries)
        if (!seen.contains(e.node))
            return "communication of what is not in view";
    return {};
}

}  // namespace

class TstAnalysisPieces : public QObject {
    Q_OBJECT
private slots:
    void whateverIsInViewThePieceIsAPartOfTheWhole_data() { addEditedModels(); }
    void whateverIsInViewThePieceIsAPartOfTheWhole() {
        QFETCH(QString, model);
        QFETCH(QString, mesh);
        QFETCH(bool, strict);
        const auto opened = editedModel(model);
        if (!opened)
            QSKIP("pieces: the shared models are not here");
        Document document = *opened;
        const GraphIndex& graph = document.graph();
        AnalysisOptions options;
        options.profile = strict ? Profile::Strict : Profile::Extended;
        const Mesh axes = Mesh::parse(mesh.toStdString()).value();
        apply(document.annotations, editConfiguration(document, "c", axes));
        Analyser analyser;
        AnalysisPtr last = analyser.run(document, options).value();
        RandomEdits random(7);
        const int steps = graph.nodes.size() > 300 ? 12 : 24;
        int seen = 0, anew = 0;
        for (int i = 0; i < steps; ++i) {
            if (i % 6 == 5) {
                // Another mesh: there is no completion to go on from.
                Mesh other = axes;
                other.axes.push_back({"one", 1 + i / 6});
                apply(document.annotations, editConfiguration(document, "c", other));
            } else if (const auto edit = random.next(document, *last)) {
                apply(document.annotations, *edit);
            }
            std::vector<NodeId> nodes;
            for (unsigned n = 1 + random.below(8); n > 0; --n)
                nodes.push_back(random.node(graph));
            nodes.push_back(nodes.front());  // Twice the same.
            if (const NodeId inBody = graph.nodes.back().id;
                graph.node(inBody).graph != graph.main().id)
                nodes.push_back(inBody);
            const Pieces pieces = analyse(analyser, document, options, nodes);
            Analyser fresh;
            const QString difference = firstDifference(
                reportOf(*pieces.whole), reportOf(*fresh.run(document, options).value()));
            QVERIFY2(difference.isEmpty(),
                     qPrintable(QString("edit %1, the whole: %2").arg(i).arg(difference)));
            if (pieces.first) {
                ++seen;
                anew += pieces.first->meaning.basis == 0;
                QVERIFY(pieces.first->isPiece() && !pieces.whole->isPiece());
                QCOMPARE(pieces.first->meaning.basis, pieces.whole->meaning.basis);
                const QString inView = differenceInView(*pieces.first, *pieces.whole);
                QVERIFY2(inView.isEmpty(),
                         qPrintable(QString("edit %1, in view: %2").arg(i).arg(inView)));
            }
            last = pieces.whole;
        }
        QVERIFY2(seen >= 3 && anew >= 1, "hardly anything was given in pieces");
    }

    void beforeTheFirstPieceOnlyWhatItFollowsFromIsWorkedOut() {
        Document document = smallTransformer(6);
        const GraphIndex& graph = document.graph();
        apply(document.annotations, editConfiguration(document, "c", {{{"tp", 2}}}));
        Analyser analyser;
        const AnalysisPtr before = analyser.run(document, {}).value();
        const TensorSlot ids{nodeNamed(graph, "model/embed/Gather"), false, 1};
        apply(document.annotations, assignAxes(document, *before, {&ids, 1}, 0, {0}).value());
        const NodeId inView = nodeNamed(graph, "model/layers.1/mlp/gate_proj/MatMul");
        const NodeId later = nodeNamed(graph, "model/layers.5/mlp/gate_proj/MatMul");
        const Pieces pieces = analyse(analyser, document, {}, {inView});
        QVERIFY(pieces.first);
        const auto layoutAt = [](const AnalysisPtr& analysis, NodeId node) {
            return analysis->meaning.nodes[node.index()].inputs[0].layout;
        };
        QVERIFY(layoutAt(pieces.first, inView) != layoutAt(before, inView));
        QCOMPARE(layoutAt(pieces.first, later), layoutAt(before, later));
        QVERIFY(layoutAt(pieces.whole, later) != layoutAt(before, later));
        QVERIFY(pieces.first->meaning.redone.size() * 2 < pieces.whole->meaning.redone.size());
        QVERIFY(std::ranges::includes(
            pieces.whole->meaning.redone, pieces.first->meaning.redone, {},
            [&](NodeId n) { return (*before->meaning.positions)[n.index()]; },
            [&](NodeId n) { return (*before->meaning.positions)[n.index()]; }));
    }

    void whatIsSaidOfANodeInABodyIsInThePieceThatShowsIt() {
        Document document = modelWithBody().document();
        const GraphIndex& graph = document.graph();
        apply(document.annotations, editConfiguration(document, "c", {{{"tp", 2}}}));
        const NodeId inner = nodeNamed(graph, "inner"), first = nodeNamed(graph, "first");
        const auto shapes = ShapeTable::build(document.model, {});
        const Layout whole = Layout::replicated({8, 16}, {0, 1});
        apply(document.annotations,
              editSpec(document, inner, "c", "h", &whole, shapes->of(valueNamed(graph, "h"))));
        Analyser one, another;
        const Pieces with = analyse(one, document, {}, {first, inner});
        QVERIFY(with.first);
        QCOMPARE(said(*with.whole, inner).size(), std::size_t(1));
        QVERIFY(said(*with.first, inner) == said(*with.whole, inner));
        const Pieces without = analyse(another, document, {}, {first});
        QVERIFY(without.first);
        QVERIFY(said(*without.first, inner).empty());
    }

    void aSmallConeIsNotCutIntoPieces() {
        Document document = smallTransformer(2);
        apply(document.annotations, editConfiguration(document, "c", {{{"tp", 2}}}));
        Analyser analyser;
        const AnalysisPtr before = analyser.run(document, {}).value();
        const NodeId node = nodeNamed(document.graph(), "model/layers.0/mlp/gate_proj/MatMul");
        const TensorSlot weight{node, false, 1};
        apply(document.annotations, assignAxes(document, *before, {&weight, 1}, 1, {0}).value());
        const Pieces pieces = analyse(analyser, document, {}, {node}, FirstPiece{}.atOnce);
        QVERIFY(!pieces.first);
        QVERIFY(pieces.whole->meaning.redone.size() > 20);
    }

    void theNextEditGoesOnFromTheLastWholeWhenItCancelsTheRest() {
        Document document = smallTransformer(3);
        const GraphIndex& graph = document.graph();
        apply(document.annotations, editConfiguration(document, "c", {{{"dp", 2}, {"tp", 2}}}));
        Analyser analyser;
        const AnalysisPtr before = analyser.run(document, {}).value();
        const TensorSlot ids{nodeNamed(graph, "model/embed/Gather"), false, 1};
        const NodeId inView = nodeNamed(graph, "model/layers.0/mlp/gate_proj/MatMul");
        apply(document.annotations, assignAxes(document, *before, {&ids, 1}, 0, {0}).value());
        const CancelToken token = CancelToken::create();
        int pieces = 0;
        const auto cancelled = analyser.run(document, {}, token,
                                            {{inView},
                                             [&](const AnalysisPtr&) {
                                                 ++pieces;
                                                 token.cancel();
                                             },
                                             0});
        QCOMPARE(pieces, 1);
        QVERIFY(!cancelled);
        const TensorSlot weight{inView, false, 1};
        apply(document.annotations, assignAxes(document, *before, {&weight, 1}, 1, {1}).value());
        const AnalysisPtr next = analyser.run(document, {}).value();
        QCOMPARE(next->meaning.basis, before->meaning.revision);
        Analyser fresh;
        QCOMPARE(firstDifference(reportOf(*next), reportOf(*fresh.run(document, {}).value())),
                 QString());
    }
};

QTEST_GUILESS_MAIN(TstAnalysisPieces)
#include "tst_analysis_pieces.moc"
