# The environment of the services. Tests compare the names with their `Settings`.

locals {
  port          = 8080
  key_folder    = "/var/run/aex"
  key_name      = "signing-key.pem"
  config_folder = "/etc/aex"

  # Cloud Run derives these URLs from names, so that services can refer to each other before they exist.
  urls = {
    for service in local.services :
    service => "https://${var.name}-${service}-${data.google_project.this.number}.${var.region}.run.app"
  }

  fixed_settings = {
    for service in local.services : service => {
      AEX_HOST               = "0.0.0.0"
      AEX_PORT               = tostring(local.port)
      AEX_STORE_URL          = "firestore://${var.project_id}/${local.databases[service]}"
      AEX_BUS_URL            = "pubsub://${var.project_id}"
      AEX_BLOBS_URL          = "gs://${local.buckets[local.bucket_of[service]]}"
      AEX_EVENT_DATA_URL     = "gs://${var.project_id}-${var.name}-events"
      AEX_KEY_FILE           = "${local.key_folder}/${local.key_name}"
      AEX_SERVICE_TOKENS     = var.service_tokens
      AEX_SERVICE_ACCOUNTS   = jsonencode(local.accounts)
      AEX_WORK_PUBLISHER_URL = local.urls["work-publisher"]
      AEX_VERIFICATION_URL   = local.urls["verification"]
      AEX_GOVERNANCE_URL     = local.urls["governance"]
      AEX_SETTLEMENT_URL     = local.urls["settlement"]
      AEX_LOG_FORMAT         = "google"
      AEX_GOOGLE_PROJECT     = var.project_id
      AEX_TRACES_URL         = "https://telemetry.googleapis.com/v1/traces"
      AEX_TRACES_CALLERS     = "linked" # Cloud Run names a trace for every request and records few of them
      AEX_TRACES_RATIO       = tostring(var.traces_ratio)
    }
  }

  # Paths of the files that files.tf mounts.
  file_settings = {
    for service in local.services : service => {
      for name, file in local.config_files : file.setting => "${local.config_folder}/${name}/${file.name}"
      if contains(file.services, service)
    }
  }

  # The settings that `var.settings` may name.
  offered_settings = {
    every = [
      "AEX_FEE_RATE",
      "AEX_ISSUERS",
      "AEX_LOG_LEVEL",
      "AEX_MAX_CONNECTIONS",
      "AEX_QUOTA_BYTES",
      "AEX_RATE_LIMIT_BURST",
      "AEX_RATE_LIMIT_PER_S",
    ]
    governance = []
    settlement = []
    verification = [
      "AEX_EVENTS_HEARTBEAT_S",
      "AEX_EVENTS_LIFETIME_S",
      "AEX_GOVERNANCE_TIMEOUT_S",
      "AEX_MAX_STREAMS",
      "AEX_MAX_STREAMS_OF_ONE",
      "AEX_MAX_SYSTEM_RETRIES",
      "AEX_MAX_WAITS",
      "AEX_REVIEW_ATTEMPTS",
      "AEX_REVIEW_BASE_URL",
      "AEX_REVIEW_CONCURRENCY",
      "AEX_REVIEW_MAX_INPUT_CHARS",
      "AEX_REVIEW_MAX_OUTPUT_TOKENS",
      "AEX_REVIEW_MODEL",
      "AEX_REVIEW_OUTPUT",
      "AEX_REVIEW_TIMEOUT_S",
      "AEX_SANDBOX_WORKERS",
      "AEX_SCIENCE_WORKERS",
      "AEX_SPOOL_DIR",
      "AEX_VERIFIER_NETWORK",
      "AEX_VERIFIER_WORKERS",
      "AEX_VERIFY_TIMEOUT_S",
      "AEX_WORKERS",
      "AEX_WORKER_MEMORY_MB",
    ]
    work-publisher = [
      "AEX_REVIEW_MODEL",
    ]
  }

  environment = {
    for service in local.services : service => merge(
      lookup(var.settings, "every", {}),
      lookup(var.settings, service, {}),
      local.file_settings[service],
      local.fixed_settings[service],
    )
  }

  # Settings with a secret value: variable → secret and version.
  secret_environment = {
    for service in local.services : service => {
      for name, secret in { AEX_REVIEW_API_KEY = var.review_api_key } : name => secret
      if secret != null && service == "verification"
    }
  }
}
