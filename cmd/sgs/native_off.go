package main

import "github.com/starlarkgs/starlarkgs/runtime"

func nativeBackends(*app) []runtime.Backend { return nil }

func backendNames() string { return "reference" }
