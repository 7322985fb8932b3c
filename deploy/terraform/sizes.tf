# Sizes and numbers of each service's instances. `var.sizes` overrides them.

locals {
  default_sizes = {
    governance     = { cpu = "1", memory = "1Gi", min_instances = 1, max_instances = 10, concurrency = 200 }
    settlement     = { cpu = "1", memory = "1Gi", min_instances = 1, max_instances = 10, concurrency = 200 }
    work-publisher = { cpu = "1", memory = "1Gi", min_instances = 1, max_instances = 10, concurrency = 200 }

    # Five confined workers of up to 1 GB each, and files of up to 4 GB, which are memory on Cloud Run.
    # Most requests wait: up to 500 for a verdict and 500 in streams of events, hence the high concurrency.
    verification = { cpu = "4", memory = "16Gi", min_instances = 1, max_instances = 20, concurrency = 800 }
  }

  sizes = {
    for service, size in local.default_sizes : service => merge(
      size, { for name, value in try(var.sizes[service], {}) : name => value if value != null }
    )
  }
}
