// SPDX-License-Identifier: Apache-2.0
#include "sharding/annotation_reader.h"
#include "sharding/codes.h"
#include "sharding/mesh_metadata.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>

namespace shardwright {

namespace {

constexpr std::int64_t kFirstAnnotatedIr = 11;

void tell(std::vector<Diagnostic>& diagnostics, const char* code, std::string message) {
    diagnostics.push_back(makeDiagnostic(code, NodeId(), {}, std::move(message)));
}

void checkDevices(const onnx::DeviceConfigurationProto& declared,
                  std::vector<Diagnostic>& diagnostics) {
    const std::string name = "configuration " + quoteName(declared.name());
    if (declared.num_devices() < 1)
        tell(diagnostics, "SW103",
             name + " has " + std::to_string(declared.num_devices()) + " devices");
    if (declared.num_devices() > kMaxDeviceCount)
        tell(diagnostics, "SW108",
             name + " has " + std::to_string(declared.num_devices()) + " devices; " +
                 std::to_string(kMaxDeviceCount) + " are worked with");
    if (declared.device().empty())
        return;
    if (declared.device_size() != declared.num_devices())
        tell(diagnostics, "SW104",
             name + " has " + std::to_string(declared.num_devices()) + " devices and " +
                 std::to_string(declared.device_size()) + " device names");
    std::set<std::string_view> seen;
    for (const std::string& device : declared.device()) {
        if (seen.insert(device).second)
            continue;
        tell(diagnostics, "SW105", name + " has two devices named " + quoteName(device));
        break;
    }
}

void checkMetadata(const Annotations& annotations, const onnx::DeviceConfigurationProto& declared,
                   std::vector<Diagnostic>& diagnostics) {
    const auto found = annotations.metadata.find(meshMetadataKey(declared.name()));
    if (found == annotations.metadata.end())
        return;
    const auto parsed = MeshMetadata::parse(found->second);
    if (!parsed) {
        tell(diagnostics, "SW106",
             "metadata entry " + quoteName(found->first) +
                 " is ignored: " + parsed.error().message);
        return;
    }
    if (parsed->mesh && parsed->mesh->deviceCount() != declared.num_devices())
        tell(diagnostics, "SW107",
             "the mesh " + parsed->mesh->text() + " of " +
                 std::to_string(parsed->mesh->deviceCount()) +
                 " devices does not fit configuration " + quoteName(declared.name()) + " of " +
                 std::to_string(declared.num_devices()) + " devices and is ignored");
    for (const auto& [stage, devices] : parsed->stages) {
        if (!devices.empty() && devices.back() >= declared.num_devices()) {
            tell(diagnostics, "SW106",
                 "the devices " + devicesText(devices) + " of stage " + std::to_string(stage) +
                     " in metadata entry " + quoteName(found->first) +
                     " are ignored: configuration " + quoteName(declared.name()) + " has " +
                     std::to_string(declared.num_devices()) + " devices");
            break;
        }
    }
}

bool isAnnotated(const Annotations& annotations) {
    return !annotations.configurations.empty() ||
           std::any_of(annotations.nodes.begin(), annotations.nodes.end(),
                       [](const auto& node) { return node != nullptr; });
}

void checkVersion(const Document& document, std::vector<Diagnostic>& diagnostics) {
    const std::int64_t version =
        std::max(document.model->proto().ir_version(), document.annotations.irVersion);
    // Saving a change raises the version by itself; what is told of is a file that would stay as it
    // is.
    if (version >= kFirstAnnotatedIr || !isAnnotated(document.annotations) ||
        !document.annotations.sameAs(document.model->annotations()))
        return;
    tell(diagnostics, "SW601",
         "the model is annotated but has IR version " + std::to_string(version) +
             "; annotations need 11");
    Fix fix{"raise-version", "Raise the IR version to 11", {}, 0};
    fix.edit.title = fix.title;
    fix.edit.steps.emplace_back(SetIrVersion{kFirstAnnotatedIr});
    diagnostics.back().fixes.push_back(std::move(fix));
}

}  // namespace

void checkDeclarations(const Document& document, std::vector<Diagnostic>& diagnostics) {
    std::set<std::string_view> seen, told;
    bool unnamed = false;
    for (const auto& declared : document.annotations.configurations) {
        if (declared.name().empty()) {
            unnamed = true;
            continue;
        }
        if (!seen.insert(declared.name()).second) {
            if (told.insert(declared.name()).second)
                tell(diagnostics, "SW102",
                     "the model has two configurations named " + quoteName(declared.name()) +
                         "; the first one is used");
            continue;
        }
        checkDevices(declared, diagnostics);
        checkMetadata(document.annotations, declared, diagnostics);
    }
    if (unnamed)
        tell(diagnostics, "SW101", "the model has a device configuration without a name");
    checkVersion(document, diagnostics);
}

}  // namespace shardwright
