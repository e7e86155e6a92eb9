// SPDX-License-Identifier: Apache-2.0
// After an edit only what it touches is worked out again; nobody can tell from the result.
#include "edited_model.h"

using namespace shardwright;
using namespace shardwright::test;

namespace {

class Editing {
public:
    Editing(Document document, const Mesh& mesh, unsigned seed, Profile profile)
        : m_document(std::move(document)), m_random(seed) {
        m_options.profile = profile;
        apply(m_document.annotations, editConfiguration(m_document, "c", mesh));
        analyse();
    }

    /// One random edit; the present and a fresh analysis.
    std::pair<std::shared_ptr<const Analysis>, std::shared_ptr<const Analysis>> step() {
        Result<Edit> edit = m_random.next(m_document, *m_analysis);
        if (edit) {
            Edit inverse = apply(m_document.annotations, *edit);
            if (m_random.below(4) == 0) {  // Sometimes seen in between, sometimes not.
                if (m_random.below(2) == 0)
                    analyse();
                apply(m_document.annotations, inverse);
            }
        }
        analyse();
        Analyser fresh;
        return {m_analysis, fresh.run(m_document, m_options).value()};
    }
    std::size_t redone() const { return m_analysis->meaning.redone.size(); }

private:
    void analyse() { m_analysis = m_analyser.run(m_document, m_options).value(); }

    Document m_document;
    RandomEdits m_random;
    AnalysisOptions m_options;
    Analyser m_analyser;
    std::shared_ptr<const Analysis> m_analysis;
};

}  // namespace

class TstIncremental : public QObject {
    Q_OBJECT
private slots:
    void everyEditGivesWhatAFullRunGives_data() { addEditedModels(); }
    void everyEditGivesWhatAFullRunGives() {
        QFETCH(QString, model);
        QFETCH(QString, mesh);
        QFETCH(bool, strict);
        const auto document = editedModel(model);
        if (!document)
            QSKIP("incremental: the shared models are not here");
        const Profile profile = strict ? Profile::Strict : Profile::Extended;
        Editing editing(*document, Mesh::parse(mesh.toStdString()).value(), 3, profile);
        std::size_t partial = 0;
        const std::size_t steps = document->graph().nodes.size() > 300 ? 12 : 40;
        for (std::size_t i = 0; i < steps; ++i) {
            const auto [kept, fresh] = editing.step();
            partial +=
                kept->meaning.basis != 0 && editing.redone() < kept->meaning.nodes.size() / 2;
            const AnalysisReport a = reportOf(*kept), b = reportOf(*fresh);
            if (!(a == b))
                QFAIL(qPrintable(QString("edit %1: %2").arg(i).arg(firstDifference(a, b))));
        }
        QVERIFY2(partial > steps / 4, "hardly any edit was answered by a part of the graph");
    }

    void anEditReachesOnlyWhatFollowsFromIt() {
        TransformerSizes sizes;
        sizes.layers = 6;
        sizes.external = true;
        Document document = transformer(sizes).document();
        apply(document.annotations, editConfiguration(document, "c", {{{"tp", 2}}}));
        Analyser analyser;
        auto analysis = analyser.run(document, {}).value();
        // A column-split weight whose node has a whole output: nothing after it changes.
        const NodeId node = nodeNamed(document.graph(), "model/layers.0/mlp/gate_proj/MatMul");
        const TensorSlot weight{node, false, 1}, output{node, true, 0};
        apply(document.annotations, assignAxes(document, *analysis, {&weight, 1}, 1, {0}).value());
        analysis = analyser.run(document, {}).value();
        QVERIFY(analysis->meaning.redone.size() > 100);
        apply(document.annotations, assignReplicated(document, *analysis, {&output, 1}).value());
        analysis = analyser.run(document, {}).value();
        QVERIFY(analysis->meaning.basis != 0);
        apply(document.annotations, removeSpecs(document, *analysis, {&weight, 1}));
        analysis = analyser.run(document, {}).value();
        QCOMPARE(analysis->meaning.redone, std::vector<NodeId>{node});
    }
};

QTEST_GUILESS_MAIN(TstIncremental)
#include "tst_incremental.moc"
