// Tells runs that this user made on this machine from those that came from elsewhere.
//
// A run holds native code, so one that was made elsewhere is run only on request (`--trust`). Each
// user has a random secret in a folder of their own; run.json carries a hash of that secret and the
// run's own random id. Someone who has never seen one of the user's runs cannot make the field fit;
// someone who was given one could reuse its id and hash, so this guards against running a
// stranger's code by accident, not against an attacker who aims at this user.
#pragma once

#include <string>

#include "base/files.h"

namespace fuseproof {

// 32 hex digits from the operating system's random source.
std::string random_id();

// $FUSEPROOF_STATE_DIR, else $XDG_STATE_HOME/fuseproof, else ~/.local/state/fuseproof; empty where
// there is no home folder either.
Path state_folder();

// Why the state folder can be neither read nor written; "" when it can.
std::string state_problem(FileSystem& files, const Path& state);

// The origin field for a run id. Creates the secret when there is none yet. "" when the state
// folder can be neither read nor written: such a run counts as foreign.
std::string local_origin(FileSystem& files, const Path& state, const std::string& run_id);

}  // namespace fuseproof
