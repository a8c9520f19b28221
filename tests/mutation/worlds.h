// The worlds in which the checker runs mutations of the master election: small, and completely
// explored without a mutation. Each returns the violated property, or "nothing".
#pragma once

#include <string>

namespace tempo::check {

std::string newcomer();
std::string newcomer_without_loop();
std::string joint_start();
std::string joint_start_with_two_losses();
std::string two_masters_meet();
std::string newcomer_to_two_masters();
std::string master_crashes();
std::string commanded_to_stand();

}  // namespace tempo::check
