# Write-only arguments keep the signing key out of the state: Terraform 1.11.
terraform {
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 6.50"
    }
    tls = {
      source  = "hashicorp/tls"
      version = "~> 4.1"
    }
  }

  # The README's first step makes the bucket; `terraform init` names it.
  backend "gcs" {
    prefix = "aex"
  }
}

provider "google" {
  project = var.project_id
  region  = var.region
}
