# How large each service's instances are, and how many there may be. `sizes` changes any of it.

locals {
  default_sizes = {
    governance     = { cpu = "1", memory = "1Gi", min_instances = 1, max_instances = 10, concurrency = 200 }
    settlement     = { cpu = "1", memory = "1Gi", min_instances = 1, max_instances = 10, concurrency = 200 }
    work-publisher = { cpu = "1", memory = "1Gi", min_instances = 1, max_instances = 10, concurrency = 200 }

    # Five confined workers of up to 1 GB each, and files that they read of up to 4 GB, which on Cloud Run are memory.
    # Most of its requests wait: 500 for a verdict, 500 in streams of events; hence so many at once.
    verification = { cpu = "4", memory = "16Gi", min_instances = 1, max_instances = 20, concurrency = 800 }
  }

  sizes = {
    for service, size in local.default_sizes : service => merge(
      size, { for name, value in try(var.sizes[service], {}) : name => value if value != null }
    )
  }
}
