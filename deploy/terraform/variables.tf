variable "project_id" {
  description = "The Google Cloud project of all resources."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "A project's id has 6 to 30 lower-case letters, digits and hyphens."
  }
}

variable "region" {
  description = "The region of services, databases and buckets. Cannot be changed later."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "A region has a name like europe-west1."
  }
}

variable "name" {
  description = "Prefix of all names except topics and subscriptions, which are named after events: a project can have only one installation."
  type        = string
  default     = "aex"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,8}[a-z0-9]$", var.name))
    error_message = "2 to 10 lower-case letters, digits and hyphens: names of services and accounts are short."
  }
}

variable "images" {
  description = "The image of each service, by its digest: REGION-docker.pkg.dev/PROJECT/aex/settlement@sha256:…"
  type        = map(string)

  validation {
    condition     = toset(keys(var.images)) == toset(local.services)
    error_message = "Name one image for each of governance, settlement, verification and work-publisher."
  }

  validation {
    condition     = alltrue([for image in values(var.images) : can(regex("^[^@\\s]+@sha256:[0-9a-f]{64}$", image))])
    error_message = "An image is named by its digest (…@sha256:…): a tag can be moved to an untested image."
  }
}

variable "sizes" {
  description = "Differences from the sizes in sizes.tf: {settlement = {max_instances = 5}}."
  type = map(object({
    cpu           = optional(string)
    memory        = optional(string)
    min_instances = optional(number)
    max_instances = optional(number)
    concurrency   = optional(number)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = length(setsubtract(keys(var.sizes), local.services)) == 0
    error_message = "Sizes are of governance, settlement, verification and work-publisher."
  }

  validation {
    condition     = alltrue([for size in values(var.sizes) : coalesce(size.min_instances, 1) >= 1])
    error_message = "At least one instance of each service: events, timers and seals run between requests."
  }
}

variable "settings" {
  description = "AEX_… settings beside those that settings.tf fixes, for every service or for one: {every = {AEX_FEE_RATE = \"0.02\"}, verification = {AEX_WORKERS = \"4\"}}."
  type        = map(map(string))
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.settings), keys(local.offered_settings))) == 0
    error_message = "Settings are of every service (`every`), or of governance, settlement, verification or work-publisher."
  }

  validation {
    condition = alltrue([
      for place, values in var.settings :
      length(setsubtract(keys(values), lookup(local.offered_settings, place, []))) == 0
    ])
    error_message = "There is no such setting for that service; settings.tf lists the settings of each."
  }

  validation {
    condition     = try(tonumber(var.settings["verification"]["AEX_EVENTS_LIFETIME_S"]), 240) <= 3000
    error_message = "Streams of events may last 3000 s: Cloud Run ends every request after an hour."
  }
}

variable "outcome_config_file" {
  description = "A local outcome-verification.yaml for work-publisher and verification; null: the built-in metrics."
  type        = string
  default     = null

  validation {
    condition     = var.outcome_config_file == null || can(file(var.outcome_config_file))
    error_message = "There is no such file."
  }
}

variable "rules_config_file" {
  description = "A local YAML file over the packaged thresholds of governance's rules; null: the packaged ones."
  type        = string
  default     = null

  validation {
    condition     = var.rules_config_file == null || can(file(var.rules_config_file))
    error_message = "There is no such file."
  }
}

variable "review_api_key" {
  description = "The secret in Secret Manager, with its version, that holds the API key of the judge; null: none."
  type = object({
    secret  = string
    version = string
  })
  default = null
}

variable "signing_key_version" {
  description = "Raise it by one for a new signing key. Tokens signed by hand and page cursors of the old key become invalid."
  type        = number
  default     = 1

  validation {
    condition     = var.signing_key_version >= 1 && floor(var.signing_key_version) == var.signing_key_version
    error_message = "1, 2, 3 …"
  }
}

variable "service_tokens" {
  description = "Signer of the tokens between services: google, for the account of each; or local, with the signing key that all four have."
  type        = string
  default     = "google"

  validation {
    condition     = contains(["google", "local"], var.service_tokens)
    error_message = "Service tokens are signed by google, or local."
  }
}

variable "traces_ratio" {
  description = "The share of new traces that are recorded, 0 to 1."
  type        = number
  default     = 0.1

  validation {
    condition     = var.traces_ratio >= 0 && var.traces_ratio <= 1
    error_message = "A share is from 0 to 1."
  }
}

variable "collector_image" {
  description = "Google's collector, which runs beside each service and sends its /metrics to Managed Prometheus."
  type        = string
  default     = "us-docker.pkg.dev/cloud-ops-agents-artifacts/cloud-run-gmp-sidecar/cloud-run-gmp-sidecar:1.2.0"
}

variable "notification_channels" {
  description = "Notification channels by urgency (now, today, look), as projects/P/notificationChannels/N."
  type        = map(list(string))
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.notification_channels), keys(local.severities))) == 0
    error_message = "Urgencies are now, today and look."
  }
}

variable "guide_url" {
  description = "The URL of the guide deploy/alarms.md, to which alarms link; null: alarms name the file."
  type        = string
  default     = null

  validation {
    condition     = var.guide_url == null || startswith(coalesce(var.guide_url, " "), "https://")
    error_message = "An https URL."
  }
}

variable "backup_retention_days" {
  description = "Retention of the daily backups of the databases, 1 to 98 days. The last 7 days can be restored by the minute."
  type        = number
  default     = 35

  validation {
    condition     = var.backup_retention_days >= 1 && var.backup_retention_days <= 98
    error_message = "Firestore keeps backups for 1 to 98 days."
  }
}

variable "deletion_protection" {
  description = "Whether databases and services refuse deletion. Apply false before a `terraform destroy`."
  type        = bool
  default     = true
}
