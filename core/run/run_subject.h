// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "comm/hardware_profile.h"
#include "plan/views.h"
#include "run/inputs.h"
#include "run/observed_weights.h"
#include "run/run_context.h"

#include <memory>
#include <optional>
#include <vector>

namespace shardwright {

/// What a run is about: the model, its inputs and the tensors to observe, as the request says, read
/// and checked. The three steps are taken in this order; nothing runs in them.
class RunSubject {
public:
    explicit RunSubject(const RunContext& run) : m_run(run) {}

    RunStep load();     ///< The model, the hardware profile, names and shapes of given inputs.
    RunStep analyse();  ///< Refuses a model with errors (with the first), and names not found.
    RunStep readInputs();

    const Document& document() const { return m_document; }
    const GraphIndex& graph() const { return m_document.graph(); }
    const Analysis& analysis() const { return *m_analysis; }
    const Mesh& mesh() const { return m_analysis->configuration.mesh; }
    int deviceCount() const {
        return m_analysis->hasConfiguration ? m_analysis->configuration.deviceCount : 1;
    }
    const InputSet& inputs() const { return m_inputs; }
    const std::shared_ptr<StringPool>& strings() const { return m_strings; }
    bool hasRandomInputs() const { return !m_files; }
    const HardwareProfile* hardware() const { return m_hardware ? &*m_hardware : nullptr; }

    /// To observe: values, values as a node takes them, and weights.
    const std::vector<ValueId>& observedValues() const { return m_values; }
    const std::vector<PlanView>& observedViews() const { return m_views; }
    const std::vector<ObservedTensor>& observedWeights() const { return m_weights; }
    /// Whether a tensor of the run is one of those values or views.
    bool isObserved(const RunResult::Output& tensor) const;
    /// Results of nodes that can be compared, in topological order.
    std::vector<ValueId> allValues() const;

private:
    RunStep openInputs();
    RunStep findObservedTensors();
    bool isRunInput(ValueId value) const;

    const RunContext& m_run;
    Document m_document;
    Bindings m_bindings;
    std::optional<InputFiles> m_files;
    std::optional<HardwareProfile> m_hardware;
    std::shared_ptr<const Analysis> m_analysis;
    std::vector<ValueId> m_values;
    std::vector<PlanView> m_views;
    std::vector<ObservedTensor> m_weights;
    const std::shared_ptr<StringPool> m_strings = std::make_shared<StringPool>();
    InputSet m_inputs;
};

}  // namespace shardwright
