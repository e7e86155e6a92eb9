// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace shardwright::fuzz {

/// Changes a message field by field, so that what comes out is still a message: plain bytes seldom
/// get behind the parser, and never make two tensors share a name.
class MessageMutator {
public:
    explicit MessageMutator(unsigned seed) : m_random(seed) {}

    /// A few random changes. Strings and parts are taken from `other` as well.
    void mutate(google::protobuf::Message& message, const google::protobuf::Message* other);

private:
    using Message = google::protobuf::Message;
    using Field = google::protobuf::FieldDescriptor;

    std::size_t below(std::size_t n) { return m_random() % n; }
    std::int64_t number(std::int64_t present);
    std::string text(const std::string& present);

    void changeOnce(Message& message);
    void setScalar(Message& message, const Field& field);
    void changeScalar(Message& message, const Field& field, int index);
    void changeRepeated(Message& message, const Field& field);
    void addTo(Message& message, const Field& field);

    std::mt19937 m_random;
    std::vector<std::string> m_texts;      ///< Of both messages.
    std::vector<const Message*> m_donors;  ///< Parts of the other message.
};

}  // namespace shardwright::fuzz
